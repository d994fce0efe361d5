// Plans: what the checker refuses, and what the order and the model are good for.
#include "sordino/trsv/plan.hpp"

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/model_solve.hpp"
#include "sordino/trsv/way_back.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

Blocks blocks_of(const triangles::Columns& c, i32 width = 16, i64 part_values = 200) {
  return cut(find_supernodes(c.pattern()), width, part_values);
}

bool is_refused(const Blocks& blocks, const Plan& plan) {
  try {
    check_plan(blocks, plan);
  } catch (const Error&) {
    return true;
  }
  return false;
}

constexpr PlanOptions two_ranks{.ranks = 2, .workers = 4, .task_bytes = 2000, .subtree_bytes = 2000};

}  // namespace

TEST("the checker finds what is taken away of needs, readers, queues and parts of tasks") {
  const Blocks blocks = blocks_of(triangles::nested_grid(9, 9, 5));
  for (Direction direction : {Direction::forward, Direction::backward}) {
    const Plan good = make_plan(blocks, direction, 8, two_ranks);
    check_plan(blocks, good);
    int needed = 0;
    for (std::size_t e = 0; e < good.needs.size(); e++) {  // each need is one too few somewhere
      Plan bad = good;
      const auto t = std::upper_bound(bad.need_begin.begin(), bad.need_begin.end(), i64(e)) - bad.need_begin.begin() - 1;
      bad.needs.erase(bad.needs.begin() + i64(e));
      for (std::size_t k = std::size_t(t) + 1; k < bad.need_begin.size(); k++) bad.need_begin[k]--;
      needed += is_refused(blocks, bad);
    }
    CHECK(needed > int(good.needs.size()) * 3 / 4);
    int sent = 0, read = 0;
    for (std::size_t t = 0; t < good.tasks.size(); t++) {
      if (good.readers[t] == 0) continue;
      sent++;
      Plan bad = good;
      bad.readers[t] = 0;
      read += is_refused(blocks, bad);
    }
    CHECK(sent > 0);
    CHECK(read > sent * 9 / 10);
    Plan bad = good;
    std::swap(bad.queues[0][0], bad.queues[0][1]);
    CHECK_THROWS((check_plan(blocks, bad)), Error, "stands wrongly");
    bad = good;
    bad.needs[0] = bad.count() - 1;
    CHECK_THROWS((check_plan(blocks, bad)), Error, "comes later");
    bad = good;
    bad.tasks[0].kind == Task::Kind::subtrees ? bad.tasks[0].first++ : bad.tasks[0].end--;
    CHECK_THROWS((check_plan(blocks, bad)), Error, "");
  }
}

TEST("the checker finds a partial sum that is computed twice, never, or of strips that are no part") {
  const Blocks blocks = blocks_of(triangles::nested_grid(9, 9, 5), 8, 100);
  const Plan good = make_plan(blocks, Direction::backward, 8, two_ranks);
  std::vector<std::size_t> parts;
  for (std::size_t t = 0; t < good.tasks.size(); t++)
    if (good.tasks[t].kind == Task::Kind::strips) parts.push_back(t);
  REQUIRE(parts.size() > 5);
  for (std::size_t t : parts) {
    Plan bad = good;
    bad.tasks[t].end++;
    CHECK(is_refused(blocks, bad));
    for (std::size_t other : parts)
      if (other != t && good.tasks[other].block == good.tasks[t].block) bad.tasks[t] = good.tasks[other];
    if (bad.tasks[t].first != good.tasks[t].first) CHECK_THROWS((check_plan(blocks, bad)), Error, "another one has written");
    bad = good;
    bad.tasks[t].rank ^= 1;
    CHECK(is_refused(blocks, bad));
  }
}

TEST("on the way back each strip of a block is near or in one part, and no part has a column of the parent") {
  NOTE(fresh::said());
  fresh::Random random(31);
  for (const triangles::Columns& c : triangles::some(random, 12)) {
    const i32 width = i32(random.whole(1, 20));
    const i64 part_values = random.whole(1, 400);
    const Blocks blocks = blocks_of(c, width, part_values);
    NOTE("n = ", c.n, ", width ", width, ", parts of ", part_values);
    i64 partials = 0;
    for (i32 k = 0; k < blocks.count(); k++) {
      const Block& b = blocks.blocks[std::size_t(k)];
      const StripRange near = blocks.near[std::size_t(k)];
      std::vector<int> taken(std::size_t(b.strips()), 0);
      for (i32 s = near.first; s < near.end; s++) {
        taken[std::size_t(s)]++;
        CHECK(strip_of(b, s).columns == b.width);
      }
      for (i32 part = blocks.part_begin[std::size_t(k)]; part < blocks.part_begin[std::size_t(k) + 1]; part++) {
        const StripRange strips = blocks.parts[std::size_t(part)];
        CHECK(part_of(blocks, k, strips.first) == part);
        CHECK(blocks.partial[std::size_t(part)] == partials);
        partials += b.width;
        i64 values = 0;
        for (i32 s = strips.first; s < strips.end; s++) {
          taken[std::size_t(s)]++;
          values += strip_of(b, s).size();
          const i32 parent = blocks.parent[std::size_t(k)];
          for (i32 i = std::max(strip_of(b, s).first, b.width);
               parent != no_parent && i < strip_of(b, s).first + strip_of(b, s).rows; i++) {
            const Block& above = blocks.blocks[std::size_t(parent)];
            CHECK(blocks.rows[std::size_t(b.rows + i)] >= above.column + above.width);
          }
        }
        CHECK((strips.end == strips.first + 1 || values <= std::max(remote_part * part_values, i64(b.front) * b.width / 32)));
      }
      for (int times : taken) CHECK(times == 1);
    }
    CHECK(blocks.partials == partials);
  }
}

TEST("parts of the way back are small beside the parent, and grow with their distance from it") {
  std::vector<std::vector<i32>> below(2400);
  for (std::size_t j = 0; j < below.size(); j++) {
    below[j].resize(below.size() - 1 - j);
    std::iota(below[j].begin(), below[j].end(), i32(j) + 1);
  }
  constexpr i64 part_values = 4000;  // one strip of 62 rows and 64 columns
  const Blocks blocks = blocks_of(triangles::columns_of(below), 64, part_values);
  const Block& b = blocks.blocks[0];
  i64 between = 0, largest = 0;
  for (i32 part = blocks.part_begin[0]; part < blocks.part_begin[1]; part++) {
    const StripRange strips = blocks.parts[std::size_t(part)];
    if (strips.first < blocks.near[0].end) continue;  // of own rows
    i64 values = 0;
    for (i32 s = strips.first; s < strips.end; s++) values += strip_of(b, s).size();
    NOTE("strips ", strips.first, " to ", strips.end, " behind ", between, " values");
    CHECK(values <= std::max(part_values, between / share_of_distance));
    between += values;
    largest = std::max(largest, values);
  }
  CHECK(between > 16 * part_values);
  CHECK(largest > part_values);
}

TEST("options out of range are refused") {
  const Blocks blocks = blocks_of(triangles::grid(3, 3, 3));
  CHECK_THROWS((make_plan(blocks, Direction::forward, 8, {.ranks = 0})), Error, "1 to 32 ranks");
  CHECK_THROWS((make_plan(blocks, Direction::forward, 8, {.ranks = 33})), Error, "33 were asked for");
  CHECK_THROWS((make_plan(blocks, Direction::forward, 8, {.workers = 0})), Error, "one worker or more");
  CHECK_THROWS((cut(find_supernodes(triangles::grid(3, 3, 3).pattern()), 0)), Error, "one column or more");
  CHECK_THROWS((cut(find_supernodes(triangles::grid(3, 3, 3).pattern()), 8, 0)), Error, "one value or more");
}

TEST("ranks share the values evenly, subtrees stay whole, and the model says what more workers and ranks are worth") {
  const Blocks blocks = blocks_of(triangles::nested_grid(24, 24, 12), 64);
  double before = 1e9;
  for (int ranks : {1, 2, 4}) {
    PlanOptions options{.ranks = ranks, .workers = 8, .task_bytes = 8000, .subtree_bytes = 8000};
    const Plan plan = make_plan(blocks, Direction::forward, 8, options);
    std::vector<i64> values(std::size_t(ranks), 0);
    for (i32 k = 0; k < blocks.count(); k++)
      for (i32 s = 0; s < blocks.blocks[std::size_t(k)].strips(); s++)
        values[std::size_t(plan.owner[std::size_t(k)])] += strip_of(blocks.blocks[std::size_t(k)], s).size();
    for (i64 v : values) CHECK(double(v) > 0.5 * double(blocks.values) / ranks);
    Machine machine;
    machine.triangular = {.workers = 8, .worker_bandwidth = 1e9, .step_s = 2e-6, .message_s = 1.5e-6};
    const ModelReport report = model_solve(blocks, plan, 8, model_options(machine, plan.direction));
    CHECK(report.seconds < 0.8 * before);  // a worker, not the memory, is the limit
    CHECK((report.messages > 0) == (ranks > 1));
    before = report.seconds;
  }
}

TEST("parts of a block are summed before the parent's x is there: on the virtual clock the way back takes little longer") {
  const Blocks blocks = blocks_of(triangles::nested_grid(24, 24, 12), 64, 1000);
  for (int ranks : {1, 4}) {
    const PlanOptions options{.ranks = ranks, .workers = 64, .task_bytes = 8000, .subtree_bytes = 8000};
    double seconds[2] = {};
    for (Direction direction : {Direction::forward, Direction::backward}) {
      const Plan plan = make_plan(blocks, direction, 8, options);
      Machine machine;
      machine.triangular = {.workers = 64,
                            .worker_bandwidth = 1e9,
                            .step_s = 1e-6,
                            .round_s = 0,
                            .small_block_s = 1.7e-6,
                            .small_block_back_s = 1.7e-6,
                            .flag_s = 0.45e-6,
                            .backward = 1};
      seconds[std::size_t(direction)] = model_solve(blocks, plan, 8, model_options(machine, direction)).seconds;
      for (i32 t = 0; direction == Direction::backward && t < plan.count(); t++) {
        const Task& task = plan.tasks[std::size_t(t)];
        if (task.kind != Task::Kind::strips) continue;
        for (i64 e = plan.need_begin[std::size_t(t)]; e < plan.need_begin[std::size_t(t) + 1]; e++)
          CHECK(plan.tasks[std::size_t(plan.needs[std::size_t(e)])].block != blocks.parent[std::size_t(task.block)]);
      }
    }
    NOTE("ranks = ", ranks, ", ", seconds[0], " s forward and ", seconds[1], " s back");
    CHECK(seconds[1] < 1.25 * seconds[0]);  // 1.32 and 1.50 times as long, if parts waited for the parent
  }
}

TEST("long tasks have the subtrees and owners of their plan, pass the checker and give the same bits") {
  NOTE(fresh::said());
  fresh::Random random(31);
  for (const triangles::Columns& c : triangles::some(random, 2)) {
    const auto values = triangles::values_of<double>(c, random);
    const Factor<double> factor({c.pattern(), values.data()}, {.width = i32(random.whole(1, 60)), .part_values = 300});
    const Blocks& blocks = factor.blocks();
    const auto b = triangles::vector_of<double>(3 * c.n, random);
    for (int ranks : {1, 3}) {
      if (ranks > blocks.count()) continue;
      PlanOptions options{.ranks = ranks, .task_bytes = random.whole(1, 4000), .subtree_bytes = random.whole(0, 4000)};
      const Plan plan = make_plan(blocks, Direction::forward, 8, options);
      options.task_bytes = random.whole(1, 40000);
      const Plan with_long = with_long_tasks(blocks, plan, 8, options);
      NOTE("n = ", c.n, ", ranks = ", ranks, ", tasks ", plan.count(), " and ", with_long.count());
      check_plan(blocks, with_long);
      CHECK(with_long.owner == plan.owner);
      auto subtrees = [](const Plan& p) {
        std::vector<std::pair<i32, i32>> all;
        for (const Task& t : p.tasks)
          if (t.kind == Task::Kind::subtrees) all.emplace_back(t.first, t.end);
        std::sort(all.begin(), all.end());
        return all;
      };
      CHECK(subtrees(with_long) == subtrees(plan));
      std::vector<double> x(b.size()), again(b.size());
      HostSolve<double>(factor, plan, {.threads = 2}).solve(b.data(), x.data(), 3);
      HostSolve<double>(factor, with_long, {.threads = 2}).solve(b.data(), again.data(), 3);
      CHECK(x == again);
    }
  }
}

TEST("long tasks leave those that a parent waits for as they are, and refuse the way back") {
  const Blocks blocks = cut(find_supernodes(triangles::nested_grid(24, 24, 24).pattern()), 256);
  const Plan plan = make_plan(blocks, Direction::forward, 8);
  const Plan with_long = with_long_tasks(blocks, plan, 8, {.task_bytes = 4 * PlanOptions().task_bytes});
  CHECK(with_long.count() < plan.count());
  for (const Task& t : with_long.tasks) {
    if (t.kind != Task::Kind::strips || t.end - t.first == 1) continue;
    const StripRange near = blocks.near[std::size_t(t.block)];
    const bool is_near = t.first < near.end && near.first < t.end;
    CHECK(8 * values_of(blocks, t) <= (is_near ? 1 : 4) * PlanOptions().task_bytes);
  }
  CHECK_THROWS((with_long_tasks(blocks, make_plan(blocks, Direction::backward, 8), 8, {})), Error, "for the way forward");
}
