// Substitution by levels: rows, plans, solves on threads and on the model against substitution in higher precision, and what is
// kept so.
#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/level_solve.hpp"
#include "unit/trsv/oracle.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using namespace oracle;
using triangles::Columns;

/// Each row needs the one before it, and with this probability another one.
Columns chain(fresh::Random& random, i64 n, double chance) {
  std::vector<std::vector<i32>> below(std::size_t(n), std::vector<i32>{});
  for (i64 i = 1; i < n; i++) {
    below[std::size_t(i - 1)].push_back(i32(i));
    if (i > 1 && random.chance(chance)) below[std::size_t(random.whole(0, i - 2))].push_back(i32(i));
  }
  return triangles::columns_of(below);
}

/// Apart from a last row that needs all others, and a first one that all others need.
Columns dense_last_row(i64 n, bool and_first_column) {
  std::vector<std::vector<i32>> below(std::size_t(n), std::vector<i32>{});
  for (i64 j = 0; j + 1 < n; j++) below[std::size_t(j)].push_back(i32(n - 1));
  for (i64 i = 1; and_first_column && i + 1 < n; i++) below[0].push_back(i32(i));
  return triangles::columns_of(below);
}

std::vector<Columns> all_kinds(fresh::Random& random) {
  std::vector<Columns> all = triangles::some(random, 6);
  all.push_back(triangles::grid(9, 8, 7));
  all.push_back(triangles::nested_grid(8, 7, 6));
  all.push_back(chain(random, 200, 0.3));
  all.push_back(dense_last_row(150, false));
  all.push_back(dense_last_row(random.whole(60, 300), true));
  all.push_back(triangles::scattered(random, random.whole(100, 250), random.real(0.3, 0.6)));  // rows of more than 64 entries
  return all;
}

LevelRows rows_of(const Columns& c, Direction way = Direction::forward) {
  const std::vector<double> ones(c.rows.size(), 1.0);
  LevelFactor<double> factor({c.pattern(), ones.data()});
  factor.prepare(way);
  return factor.rows(way);
}

template <class V>
void check_solves(const Columns& c, fresh::Random& random) {
  const bool unit = random.chance(0.3);
  const std::vector<V> values = triangles::values_of<V>(c, random);
  LevelFactor<V> factor({c.pattern(), values.data(), unit});
  factor.prepare(Direction::backward);
  const i64 columns = random.chance(0.1) ? 64 : random.whole(1, 5);
  const std::vector<V> b = triangles::vector_of<V>(c.n * columns, random);
  for (How how : {How::plain, How::transposed, How::adjoint}) {
    const LevelRows& rows = factor.rows(how == How::plain ? Direction::forward : Direction::backward);
    std::vector<V> first;
    for (int ranks : {1, 2, 3, 7}) {
      NOTE("n = ", c.n, ", ranks = ", ranks, ", way ", int(how), ", columns = ", columns);
      const Plan plan = make_level_plan(rows, {.ranks = ranks, .task_entries = random.whole(1, 60)});
      check_level_plan(rows, plan);
      std::vector<V> x(b.size());
      LevelHostSolve<V> host(factor, plan, {.threads = int(random.whole(1, 4))});
      for (int twice = 0; twice < 2; twice++) {
        std::fill(x.begin(), x.end(), unknown<V>());
        host.solve(b.data(), x.data(), columns, how == How::adjoint);
        if (first.empty()) first = x;
        CHECK(same_bits(x, first));
      }
      std::fill(x.begin(), x.end(), unknown<V>());
      Machine machine;
      machine.triangular.workers = int(random.whole(1, 4));
      const ModelOptions options = model_options(machine, plan.direction, columns, u64(random.whole(1, 1 << 30)));
      model_solve(factor, plan, options, b.data(), x.data(), columns, how == How::adjoint);
      CHECK(same_bits(x, first));
    }
    for (i64 k = 0; k < columns; k++) {
      std::vector<V> of_column;
      for (i64 i = 0; i < c.n; i++) of_column.push_back(b[std::size_t(i * columns + k)]);
      CHECK(error_of(first, columns, k, substituted(c, values, unit, of_column, how)) < tolerance<V>());
    }
  }
}

bool is_refused(const LevelRows& rows, const Plan& plan) {
  try {
    check_level_plan(rows, plan);
  } catch (const Error&) {
    return true;
  }
  return false;
}

}  // namespace

TEST("rows stand in the order of their levels, with all entries, each behind the levels it needs") {
  NOTE(fresh::said());
  fresh::Random random(51);
  for (const Columns& c : all_kinds(random)) {
    const LevelRows forward = rows_of(c), backward = rows_of(c, Direction::backward);
    for (const LevelRows* r : {&forward, &backward}) {
      NOTE("n = ", c.n, ", direction ", int(r->direction));
      const std::vector<i32> place = places_of(*r);
      CHECK(r->entries() == i64(c.rows.size()) - c.n);
      CHECK(r->level_begin.front() == 0);
      CHECK(r->level_begin.back() == c.n);
      i64 found = 0;
      for (i64 j = 0; j < c.n; j++)
        for (i64 k = c.begin[std::size_t(j)]; k < c.begin[std::size_t(j) + 1]; k++) {
          const i32 i = c.rows[std::size_t(k)];
          const std::size_t row = std::size_t(place[std::size_t(r == &forward ? i : j)]);
          const i32 column = place[std::size_t(r == &forward ? j : i)];
          if (i != j)
            found += std::binary_search(r->columns.begin() + r->begin[row], r->columns.begin() + r->begin[row + 1], column);
        }
      CHECK(found == r->entries());
      for (i32 level = 0; level < r->levels(); level++)
        for (i32 k = r->level_begin[std::size_t(level)]; k < r->level_begin[std::size_t(level) + 1]; k++) {
          const i32 count = r->count(k);  // the last one that it needs is of the level before
          CHECK((count == 0) == (level == 0));
          if (count == 0) continue;
          const i32 last = r->columns[std::size_t(r->begin[std::size_t(k) + 1] - 1)];
          CHECK(last < r->level_begin[std::size_t(level)]);
          CHECK(last >= r->level_begin[std::size_t(level) - 1]);
        }
    }
  }
  CHECK(rows_of(triangles::grid(9, 8, 7)).levels() == 9 + 8 + 7 - 2);
  CHECK(rows_of(chain(random, 50, 0.5)).levels() == 50);
}

TEST("substitutions by levels are those in higher precision, with the same bits on threads and on the model, on 1 to 7 ranks") {
  NOTE(fresh::said());
  fresh::Random random(52);
  for (const Columns& c : all_kinds(random)) {
    check_solves<double>(c, random);
    check_solves<float>(c, random);
    check_solves<Number>(c, random);
  }
}

TEST("tasks of a plan of levels are as large as asked, ranks have as much to do, and narrow levels are joined") {
  const LevelRows grid = rows_of(triangles::grid(20, 20, 20));
  for (int ranks : {1, 4}) {
    const Plan plan = make_level_plan(grid, {.ranks = ranks, .task_entries = 100});
    std::vector<i64> of_rank(std::size_t(ranks), 0);
    for (const Task& t : plan.tasks) {
      const i64 size = grid.begin[std::size_t(t.end)] - grid.begin[std::size_t(t.first)] + t.end - t.first;
      CHECK(size < 104);
      of_rank[std::size_t(t.rank)] += size;
    }
    for (i64 size : of_rank) CHECK(std::abs(size * ranks - (grid.entries() + grid.n)) <= 4 * ranks);
  }
  fresh::Random random(53);
  const LevelRows narrow = rows_of(chain(random, 1000, 0));
  CHECK(make_level_plan(narrow, {.task_entries = 100}).count() == 40);
  CHECK(make_level_plan(narrow, {.ranks = 2, .task_entries = 100}).count() == 40);
  CHECK_THROWS((make_level_plan(narrow, {.ranks = 33})), Error, "1 to 32 ranks");
  CHECK_THROWS((make_level_plan(narrow, {.task_entries = 0})), Error, "one entry or more");
}

TEST("the checker of plans of levels finds what is taken away of needs, readers, queues and tasks") {
  NOTE(fresh::said());
  fresh::Random random(54);
  const LevelRows rows = rows_of(triangles::grid(7, 6, 5));
  const Plan good = make_level_plan(rows, {.ranks = 3, .task_entries = 12});
  check_level_plan(rows, good);
  for (i32 t = 0; t < good.count(); t++) {
    for (i64 e = good.need_begin[std::size_t(t)]; e < good.need_begin[std::size_t(t) + 1]; e++) {
      Plan bad = good;
      bad.needs.erase(bad.needs.begin() + e);
      for (std::size_t k = std::size_t(t) + 1; k < bad.need_begin.size(); k++) bad.need_begin[k]--;
      CHECK(is_refused(rows, bad));
      bad = good;
      bad.needs[std::size_t(e)] = t;
      CHECK(is_refused(rows, bad));
    }
    for (u32 bits = good.readers[std::size_t(t)]; bits != 0; bits &= bits - 1) {
      Plan bad = good;
      bad.readers[std::size_t(t)] &= ~(bits & (~bits + 1));
      CHECK(is_refused(rows, bad));
    }
    Plan bad = good;
    bad.tasks[std::size_t(t)].end--;
    CHECK(is_refused(rows, bad));
    bad = good;
    bad.tasks[std::size_t(t)].rank = (bad.tasks[std::size_t(t)].rank + 1) % 3;
    CHECK(is_refused(rows, bad));
    bad = good;
    bad.tasks[std::size_t(t)].kind = Task::Kind::strips;
    CHECK(is_refused(rows, bad));
  }
  Plan bad = good;
  std::swap(bad.queues[0][0], bad.queues[0][1]);
  CHECK(is_refused(rows, bad));
  bad = good;  // one need more, of a task that comes later
  bad.needs.insert(bad.needs.begin() + bad.need_begin[1], 1);
  for (std::size_t k = 1; k < bad.need_begin.size(); k++) bad.need_begin[k]++;
  CHECK(is_refused(rows, bad));
  const Plan one_task = make_level_plan(rows, {.task_entries = 1 << 20});
  check_level_plan(rows, one_task);
  LevelRows turned = rows;  // a row that needs itself, in a task that waits for none
  turned.columns[0] = rows.level_begin[1];
  CHECK(is_refused(turned, one_task));
}

TEST("who reads a row's x on another rank is known row by row") {
  NOTE(fresh::said());
  fresh::Random random(55);
  const LevelRows rows = rows_of(triangles::scattered(random, 60, 0.1));
  const Plan plan = make_level_plan(rows, {.ranks = 4, .task_entries = 5});
  const std::vector<u32> readers = readers_of_rows(rows, plan);
  std::vector<u32> of_task(plan.tasks.size(), 0);
  for (std::size_t t = 0; t < plan.tasks.size(); t++)
    for (i32 k = plan.tasks[t].first; k < plan.tasks[t].end; k++) of_task[t] |= readers[std::size_t(k)];
  CHECK(of_task == plan.readers);
}

TEST("new values take the old plan of levels; another pattern is refused, and the old values stay") {
  NOTE(fresh::said());
  fresh::Random random(56);
  const Columns c = triangles::grid(6, 5, 4);
  auto values = triangles::values_of<double>(c, random);
  LevelFactor<double> factor({c.pattern(), values.data()});
  const auto b = triangles::vector_of<double>(c.n, random);
  for (Direction direction : {Direction::forward, Direction::backward}) {
    factor.prepare(direction);
    const Plan plan = make_level_plan(factor.rows(direction));
    LevelHostSolve<double> host(factor, plan);
    std::vector<double> x(b.size()), halved(b.size());
    host.solve(b.data(), x.data());
    for (double& v : values) v *= 2;
    factor.update({c.pattern(), values.data()});
    host.solve(b.data(), halved.data());
    for (std::size_t i = 0; i < x.size(); i++) CHECK(halved[i] == x[i] / 2);
    const Columns other = triangles::grid(5, 6, 4);
    CHECK_THROWS((factor.update({other.pattern(), triangles::values_of<double>(other, random).data()})), Error, "pattern");
    host.solve(b.data(), x.data());
    CHECK(x == halved);
  }
}

TEST("a substitution that fails ends on all threads with its sentence, one that waits in vain names both tasks") {
  NOTE(fresh::said());
  fresh::Random random(57);
  const Columns c = triangles::grid(8, 8, 4);
  const auto values = triangles::values_of<double>(c, random);
  const LevelFactor<double> factor({c.pattern(), values.data()});
  const LevelRows& rows = factor.rows(Direction::forward);
  Plan plan = make_level_plan(rows, {.ranks = 2, .task_entries = 20});
  const auto b = triangles::vector_of<double>(c.n, random);
  std::vector<double> x(b.size()), again(b.size());
  {
    LevelHostSolve<double> host(factor, plan, {.threads = 4});
    host.solve(b.data(), x.data());
    host.before_task = [&](i32 task) {
      if (task == plan.count() / 2) throw Error(Errc::device, "a fault for the test");
    };
    CHECK_THROWS((host.solve(b.data(), again.data())), Error, "a fault for the test");
    host.before_task = {};
    host.solve(b.data(), again.data());
    CHECK(again == x);
  }
  plan.queues[std::size_t(plan.tasks[0].rank)].erase(plan.queues[std::size_t(plan.tasks[0].rank)].begin());
  CHECK_THROWS((check_level_plan(rows, plan)), Error, "stands in no queue");
  LevelHostSolve<double> host(factor, plan, {.threads = 2, .timeout = 0.2});
  CHECK_THROWS((host.solve(b.data(), x.data())), Error, " s for task ");
  CHECK_THROWS((model_solve(factor, plan, model_options(Machine{}, plan.direction), b.data(), x.data())), Error,
               "the solve hangs");
}

TEST("filled entries are counted without filling, and say which triangles are kept by rows") {
  NOTE(fresh::said());
  fresh::Random random(58);
  for (const Columns& c : all_kinds(random)) {
    i64 wanted = 0;
    for (const auto& column : triangles::filled(c)) wanted += std::count(column.begin(), column.end(), char(1));
    const Elimination e = eliminate(c.pattern());
    CHECK(e.filled() == wanted);
    CHECK(is_better_by_rows(c.pattern(), e, 8) == (double(wanted) * 8 > 4.0 * 12 * double(c.rows.size())));
  }
  const Columns large = triangles::grid(64, 64, 64);  // a whole factor of 1e9 entries
  const Elimination e = eliminate(large.pattern());
  CHECK(e.filled() > 900'000'000);
  CHECK(is_better_by_rows(large.pattern(), e, 8));
  const Columns dense = triangles::scattered(random, 100, 1);
  CHECK(!is_better_by_rows(dense.pattern(), eliminate(dense.pattern()), 8));
}
