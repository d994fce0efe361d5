// The time of solves by plans: what tasks, copies, flags and messages take on a described machine.
#include "sordino/trsv/prediction.hpp"

#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/shared_bandwidth.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

Blocks blocks_of(const triangles::Columns& c, i32 width) { return cut(find_supernodes(c.pattern()), width); }

/// Numbers that are easily added up: 1 GB/s, steps of 1 ms, flags of 10 us, messages of 100 us.
Machine plain() {
  Machine m;
  m.put_overhead_s = 0;
  m.link_bandwidth = 1e9;
  m.triangular = {.workers = 4,
                  .bandwidth = 1e9,
                  .worker_bandwidth = 1e9,
                  .step_s = 1e-3,
                  .round_s = 0,
                  .small_block_s = 0,
                  .small_block_back_s = 0,
                  .flag_s = 1e-5,
                  .message_s = 1e-4,
                  .column = 0.5,
                  .backward = 0.25};
  return m;
}

/// A dense triangle: a chain of blocks.
triangles::Columns dense(i32 n) {
  std::vector<std::vector<i32>> below(std::size_t(n), std::vector<i32>{});
  for (i32 j = 0; j < n; j++)
    for (i32 i = j + 1; i < n; i++) below[std::size_t(j)].push_back(i);
  return triangles::columns_of(below);
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }

double seconds(const Blocks& blocks, const Plan& plan, const Machine& m, i64 columns = 1, i64 value_bytes = 0) {
  return model_solve(blocks, plan, 8, model_options(m, plan.direction, columns, 0, value_bytes)).seconds;
}

/// One task a block, without subtrees.
PlanOptions whole_blocks(int ranks = 1) { return {.ranks = ranks, .workers = 4, .task_bytes = 1 << 20, .subtree_bytes = 0}; }

TEST("passes of many right-hand sides are as GPUs make them, wide ones for doubles on the way forward only") {
  auto are = [](i64 columns, bool has_wide, i64 count, i64 further, i64 wide_further) {
    const SolvePasses p = solve_passes(columns, has_wide);
    NOTE(columns, " right-hand sides: ", p.count, " passes, ", p.further, " and ", p.wide_further, " more");
    return p.count == count && p.further == further && p.wide_further == wide_further;
  };
  CHECK(are(1, true, 1, 0, 0));
  CHECK(are(8, true, 1, 7, 0));
  CHECK(are(9, true, 1, 0, 15));
  CHECK(are(17, true, 1, 0, 31));
  CHECK(are(33, true, 2, 0, 31));
  CHECK(are(64 + 7, true, 5, 4, 62));
  CHECK(are(32, false, 4, 28, 0));
  CHECK(are(31, false, 6, 25, 0));
  CHECK(has_wide_solve_passes(Direction::forward, 8));
  CHECK(!has_wide_solve_passes(Direction::backward, 8));
  CHECK(!has_wide_solve_passes(Direction::forward, 16));
  const Machine m = plain();
  const Blocks blocks = cut(find_supernodes(dense(40).pattern()), 40);
  const Plan plan = make_plan(blocks, Direction::forward, 8, whole_blocks());
  const TaskTimes one = task_times(m, Direction::forward), many = task_times(m, Direction::forward, 32, 8);
  CHECK(near(many.work, one.work + 31 * 0.025));
  CHECK(near(many.step_s, one.step_s));
  CHECK(seconds(blocks, plan, m, 32, 8) < seconds(blocks, plan, m, 32));
  CHECK(near(seconds(blocks, plan, m, 32, 4), seconds(blocks, plan, m, 32)));
}

TEST("copies share the bandwidth evenly, and one alone is no faster than it can be") {
  SharedBandwidth s(100, 60);  // B/s
  CHECK(s.next() > 1e300);
  s.start(0, 120, 7);
  CHECK(near(s.next(), 2));
  s.start(1, 100, 3);  // 60 B of the first one are done; both go on at 50 B/s
  CHECK(near(s.next(), 2.2));
  CHECK(s.end(2.2) == 7);
  CHECK(near(s.next(), 2.2 + 40.0 / 60));
  CHECK(s.end(s.next()) == 3);
}

TEST("what is small waits behind copies as long as these take longer than they would alone") {
  SharedBandwidth s(100, 60);  // B/s
  CHECK(s.queue(0) == 0);
  s.start(0, 120, 7);
  CHECK(s.queue(0) == 0);  // one copy takes no longer than it does alone
  s.start(1, 100, 3);      // 60 B of the first one are left
  CHECK(near(s.queue(1), 160.0 / 100 - 160.0 / (2 * 60)));
  CHECK(near(s.queue(2), 60.0 / 100 - 60.0 / (2 * 60)));
  CHECK(s.end(s.next()) == 7);
  CHECK(s.queue(2.2) == 0);
}

TEST("who waits for a number while values are under way sees it later") {
  const Blocks blocks = blocks_of(triangles::nested_grid(14, 14, 14), 32);
  const Plan plan = make_plan(blocks, Direction::forward, 8, {.workers = 4, .subtree_bytes = 4000});
  auto latest = [&](double worker_bandwidth) {  // a task that was ready begins, after the end of the last one that it needs
    Machine m = plain();
    m.triangular.worker_bandwidth = worker_bandwidth;
    ModelOptions options = model_options(m, plan.direction);
    options.traced = true;
    const std::vector<TaskSeconds> tasks = model_solve(blocks, plan, 8, options).tasks;
    double most = 0;
    for (const TaskSeconds& t : tasks)
      if (t.last_need >= 0 && t.begin > t.ready) most = std::max(most, t.begin - tasks[std::size_t(t.last_need)].end);
    return most;
  };
  CHECK(std::abs(latest(0.25e9) - 1e-5) < 1e-12);  // four copies take as long as each alone
  CHECK(latest(1e9) > 1.01e-5);
}

TEST("values of a large part come in rounds, each when the one before it is used") {
  const Blocks blocks = blocks_of(dense(1800), 256);
  const Plan plan = make_plan(blocks, Direction::backward, 8, {.workers = 4});
  i64 further = 0;
  for (const Task& t : plan.tasks) {
    const i64 values = values_of(blocks, t), of_round = values_of_round(blocks, t);
    CHECK(of_round <= std::max<i64>(values, 1));
    if (t.kind == Task::Kind::strips && of_round < values) {
      CHECK(of_round <= most_of_strip);
      further += (values - 1) / of_round;
    }
  }
  REQUIRE(further > 0);
  Machine m = plain();
  m.triangular.workers = 1;  // one after the other: rounds add up
  const double before = seconds(blocks, plan, m);
  m.triangular.round_s = 1e-3;
  CHECK(std::abs(seconds(blocks, plan, m) - before - 1e-3 * double(further)) < 1e-9);
}

TEST("a plan of one task takes its bytes over the bandwidth, and a step") {
  const Blocks blocks = blocks_of(dense(20), 32);
  const Plan plan = make_plan(blocks, Direction::forward, 8, whole_blocks());
  REQUIRE(plan.count() == 1);
  Machine m = plain();
  const double copy = 8 * double(blocks.values) / 1e9;
  CHECK(near(seconds(blocks, plan, m), copy + 1e-3));
  CHECK(near(seconds(blocks, plan, m, 8), copy * (1 + 7 * 0.5) + 1e-3));
  CHECK(near(seconds(blocks, plan, m, 11), copy * (3 + 8 * 0.5) + 3e-3));  // passes of 8, 2 and 1
  m.triangular.worker_bandwidth = 5e8;
  CHECK(near(seconds(blocks, plan, m), 2 * copy + 1e-3));
  m.triangular.worker_bandwidth = 0;  // 12.7 times its share, which is more than all
  CHECK(near(seconds(blocks, plan, m), copy + 1e-3));
  m.triangular.bandwidth = 0;
  m.memory_bandwidth = 2e9;
  CHECK(near(seconds(blocks, plan, m), 8 * double(blocks.values) / (0.91 * 2e9) + 1e-3));
}

TEST("a chain of two blocks takes two steps and a flag, or a message with its bytes; on the way back copies are slower") {
  const Blocks blocks = blocks_of(dense(20), 10);
  REQUIRE(blocks.count() == 2);
  const Machine m = plain();
  auto bytes = [&](const Plan& plan, i32 t) { return 8 * double(values_of(blocks, plan.tasks[std::size_t(t)])); };
  const Plan one = make_plan(blocks, Direction::forward, 8, whole_blocks());
  REQUIRE(one.count() == 2);
  // both copies share the bandwidth: the shorter one ends when twice its bytes have come
  const double first = std::min(bytes(one, 0) + bytes(one, 1), 2 * bytes(one, 0)) / 1e9;
  CHECK(near(seconds(blocks, one, m), first + 2e-3 + 1e-5));
  const Plan two = make_plan(blocks, Direction::forward, 8, whole_blocks(2));
  REQUIRE(two.tasks[0].rank != two.tasks[1].rank);
  CHECK(near(seconds(blocks, two, m), bytes(two, 0) / 1e9 + 2e-3 + 1e-4 + 80 / 1e9));  // ten sums
  const Plan back = make_plan(blocks, Direction::backward, 8, whole_blocks(2));
  i64 before = 0;  // of the last block's tasks, the largest copy with the others beside it
  for (i32 t = 0; t < back.count(); t++)
    if (back.tasks[std::size_t(t)].block == 1) before += i64(bytes(back, t));
  CHECK(seconds(blocks, back, m) > double(before) / 0.25e9 / 2 + 2e-3 + 1e-4);
}

TEST("subtrees take time for their blocks, by four warps or along the longest chain") {
  const Blocks blocks = blocks_of(triangles::nested_grid(6, 6, 1), 32);
  const Plan plan = make_plan(blocks, Direction::forward, 8, {.workers = 4, .subtree_bytes = 1 << 20});
  REQUIRE(plan.count() == 1);
  REQUIRE(plan.tasks[0].kind == Task::Kind::subtrees);
  std::vector<i32> depth(std::size_t(blocks.count()), 1);
  i32 longest = 1;
  for (i32 k = 0; k < blocks.count(); k++) {
    longest = std::max(longest, depth[std::size_t(k)]);
    if (const i32 above = blocks.parent[std::size_t(k)]; above != no_parent)
      depth[std::size_t(above)] = std::max(depth[std::size_t(above)], depth[std::size_t(k)] + 1);
  }
  Machine m = plain();
  const double without = seconds(blocks, plan, m);
  m.triangular.small_block_s = 1e-4;
  CHECK(near(seconds(blocks, plan, m), without + 1e-4 * std::max((blocks.count() + 3) / 4, longest)));
}

TEST("each number of a description changes the time of a solve on two ranks, and in the right direction") {
  const Blocks blocks = blocks_of(triangles::nested_grid(14, 14, 14), 32);
  const Plan plan = make_plan(blocks, Direction::forward, 8, {.ranks = 2, .workers = 4, .subtree_bytes = 4000});
  Machine m = plain();
  m.triangular.small_block_s = 1e-5;
  const double before = seconds(blocks, plan, m);
  auto with = [&](auto change) {
    Machine other = m;
    change(other);
    return seconds(blocks, plan, other);
  };
  CHECK(with([](Machine& o) { o.triangular.bandwidth /= 4; }) > before);
  CHECK(with([](Machine& o) { o.triangular.worker_bandwidth /= 100; }) > before);
  CHECK(with([](Machine& o) { o.triangular.step_s *= 2; }) > 1.5 * before);
  CHECK(with([](Machine& o) { o.triangular.small_block_s *= 10; }) > before);
  CHECK(near(with([](Machine& o) { o.triangular.small_block_back_s = 1; }), before));
  CHECK(with([](Machine& o) { o.triangular.flag_s *= 20; }) > before);
  CHECK(with([](Machine& o) { o.triangular.message_s *= 20; }) > before);
  CHECK(with([](Machine& o) { o.link_bandwidth /= 1e4; }) > before);
  CHECK(with([](Machine& o) { o.triangular.workers = 1; }) > 1.5 * before);
  CHECK(with([](Machine& o) { o.ranks_per_node = 1, o.internode_latency_s = 1e-2; }) > before);
}

TEST("more bytes take longer: doubles than floats, and more right-hand sides") {
  NOTE(fresh::said());
  fresh::Random random(31);
  const Blocks blocks = blocks_of(triangles::scattered(random, 60, 0.2), 16);
  for (int ranks : {1, 2}) {
    const Plan plan = make_plan(blocks, Direction::forward, 8, whole_blocks(std::min(ranks, int(blocks.count()))));
    Machine m = plain();
    m.triangular.workers = 1;  // one after the other: no order is worse for being faster
    double last = model_solve(blocks, plan, 4, model_options(m, plan.direction)).seconds;
    for (i64 columns : {1, 2, 4, 8, 16, 32}) {
      const double now = seconds(blocks, plan, m, columns);
      CHECK(now > last);
      last = now;
    }
  }
}

TEST("more ranks are taken where they save 5 % of what fewer take") {
  const Blocks blocks = blocks_of(triangles::nested_grid(14, 14, 14), 32);
  Machine m = plain();
  m.triangular.worker_bandwidth = 1e7;
  m.triangular.step_s = m.triangular.flag_s = 1e-7;
  int spared = 0;
  for (double message = 1e-6; message < 1e-1; message *= 1.05) {
    m.triangular.message_s = message;
    const RanksChoice choice = choose_ranks(blocks, Direction::forward, 8, m, {4, 1, 2});
    std::size_t taken = 1;
    for (std::size_t k : {2, 0})
      if (choice.predicted[k].report.seconds <= 0.95 * choice.predicted[taken].report.seconds) taken = k;
    CHECK(choice.best == taken);
    CHECK(choice.plan.ranks == choice.taken().ranks);
    CHECK(choice.fastest().report.seconds <= choice.taken().report.seconds);
    spared += choice.fastest().ranks > choice.taken().ranks;
  }
  NOTE(spared);
  CHECK(spared > 0);
}

TEST("as many ranks are chosen as save enough, of equals the fewest, with their plan") {
  const Blocks large = blocks_of(triangles::nested_grid(14, 14, 14), 32), small = blocks_of(dense(20), 10);
  Machine m = plain();
  m.triangular.worker_bandwidth = 1e7;  // bytes matter
  m.triangular.step_s = m.triangular.flag_s = 1e-7;
  m.triangular.message_s = 1e-6;
  const RanksChoice many = choose_ranks(large, Direction::forward, 8, m, {1, 2, 4});
  CHECK(many.taken().ranks == 4);
  CHECK(many.plan.ranks == 4);
  CHECK(many.predicted[2].report.seconds < many.predicted[0].report.seconds);
  m.triangular.message_s = 1;  // nothing is worth a message
  for (Direction way : {Direction::forward, Direction::backward}) {
    const RanksChoice one = choose_ranks(large, way, 8, m, {4, 2, 1});
    CHECK(one.taken().ranks == 1);
    CHECK(one.plan.ranks == 1);
    CHECK(choose_ranks(small, way, 8, m, {2, 1}).taken().ranks == 1);
  }
  CHECK_THROWS((choose_ranks(small, Direction::forward, 8, m, {})), Error, "one number of ranks or more");
  CHECK_THROWS((choose_ranks(small, Direction::forward, 8, m, {1, 3})), Error,
               "more ranks, 3, than the triangle has blocks, 2");
  CHECK_THROWS((choose_ranks(small, Direction::forward, 8, m, {1}, 0)), Error, "one right-hand side or more, not 0");
  CHECK((ranks_to_try(1) == std::vector{1}));
  CHECK((ranks_to_try(6) == std::vector{1, 2, 4, 6}));
  CHECK((ranks_to_try(8) == std::vector{1, 2, 4, 8}));
}

TEST("numbers of triangular tasks that cannot be meant are refused") {
  Machine m;
  m.triangular.workers = 0;
  CHECK_THROWS(validate(m), Error, "workers of triangular solves");
  m = {};
  m.triangular.backward = 0;
  CHECK_THROWS(validate(m), Error, "way back");
  m = {};
  m.triangular.flag_s = -1;
  CHECK_THROWS(validate(m), Error, "flag_s of triangular solves");
}

TEST("a trace has the times of each task, in their order, and who was waited for last") {
  const Blocks blocks = blocks_of(dense(64), 8);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    const Plan plan = make_plan(blocks, direction, 8, whole_blocks(2));
    ModelOptions options = model_options(plain(), direction);
    CHECK(model_solve(blocks, plan, 8, options).tasks.empty());
    options.traced = true;
    const ModelReport report = model_solve(blocks, plan, 8, options);
    CHECK(report.tasks.size() == plan.tasks.size());
    double last = 0;
    for (std::size_t t = 0; t < report.tasks.size(); t++) {
      const TaskSeconds& task = report.tasks[t];
      CHECK(task.taken <= task.ready);
      CHECK(task.ready <= task.begin);
      CHECK(task.begin < task.end);
      last = std::max(last, task.end);
      const auto begin = plan.needs.begin() + plan.need_begin[t], end = plan.needs.begin() + plan.need_begin[t + 1];
      CHECK((task.last_need < 0) == (begin == end));
      if (begin == end) continue;
      CHECK(std::find(begin, end, task.last_need) != end);
      CHECK(report.tasks[std::size_t(task.last_need)].end < task.begin);
    }
    CHECK(last == report.seconds);
  }
}

}  // namespace
