// A plan carried out by ranks of an engine in one process; over several processes: conformance/mpi_triangular.cpp.
#include "sordino/trsv/ranks_solve.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/level_solve.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

PlanOptions small_tasks(int ranks) { return {.ranks = ranks, .workers = 1, .task_bytes = 1500, .subtree_bytes = 1000}; }

/// `alone` has threads, and the bits that are wanted.
template <class V, class Solve, class F>
void check_bits(fresh::Random& random, Solve& alone, const F& factor, Plan plan, i64 n) {
  const int ranks = plan.ranks;
  NOTE("ranks = ", ranks, ", direction ", int(plan.direction));
  if (random.chance(0.5))  // more is sent than anybody waits for
    for (i32 t = 0; t < plan.count(); t++)
      plan.readers[std::size_t(t)] = ((u32(1) << ranks) - 1) & ~(u32(1) << plan.tasks[std::size_t(t)].rank);
  check_queues(plan);
  host::HostEngine engine({.ranks = ranks, .timeout = 20});
  RanksSolve<V> together(engine, factor, plan);
  together.before_task = [](i32 t) {  // some ranks fall behind
    if (t % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  for (i64 columns : {1, 3, 2}) {
    const auto b = triangles::vector_of<V>(n * columns, random);
    std::vector<V> x(b.size(), unknown<V>()), wanted(b.size());
    alone.solve(b.data(), wanted.data(), columns, true);
    together.solve(b.data(), x.data(), columns, true);
    CHECK(std::memcmp(x.data(), wanted.data(), x.size() * sizeof(V)) == 0);
    x = b;
    together.solve(x.data(), x.data(), columns, true);  // in place
    CHECK(std::memcmp(x.data(), wanted.data(), x.size() * sizeof(V)) == 0);
  }
}

template <class V>
void check_blocks(fresh::Random& random, Direction direction) {
  const auto c = triangles::with_fill(triangles::nested_grid(7, 6, 5));
  const auto values = triangles::values_of<V>(c, random);
  const Factor<V> factor({c.pattern(), values.data()}, {.width = 10, .threads = 1});
  for (int ranks : {1, 2, 5}) {
    const Plan plan = make_plan(factor.blocks(), direction, sizeof(V), small_tasks(ranks));
    HostSolve<V> alone(factor, plan, {.threads = 1});
    check_bits<V>(random, alone, factor, plan, c.n);
  }
}

template <class V>
void check_rows(fresh::Random& random, Direction direction) {
  for (const auto& c : {triangles::grid(7, 6, 5), triangles::scattered(random, 150, 0.7)}) {  // short rows, and long ones
    const auto values = triangles::values_of<V>(c, random);
    LevelFactor<V> factor({c.pattern(), values.data()});
    factor.prepare(direction);
    for (int ranks : {1, 2, 5}) {
      const Plan plan = make_level_plan(factor.rows(direction), {.ranks = ranks, .task_entries = random.whole(1, 40)});
      check_level_plan(factor.rows(direction), plan);
      LevelHostSolve<V> alone(factor, plan, {.threads = 1});
      check_bits<V>(random, alone, factor, plan, c.n);
    }
  }
}

}  // namespace

TEST("ranks of an engine have the bits of threads, whoever is late") {
  NOTE(fresh::said());
  fresh::Random random(81);
  for (Direction direction : {Direction::forward, Direction::backward}) {
    check_blocks<double>(random, direction);
    check_blocks<float>(random, direction);
    check_blocks<Number>(random, direction);
  }
}

TEST("ranks of an engine substitute rows by levels with the bits of threads, whoever is late") {
  NOTE(fresh::said());
  fresh::Random random(84);
  for (Direction direction : {Direction::forward, Direction::backward}) {
    check_rows<double>(random, direction);
    check_rows<float>(random, direction);
    check_rows<Number>(random, direction);
  }
}

TEST("a task that fails ends all ranks with its sentence, and nothing is handed out") {
  NOTE(fresh::said());
  fresh::Random random(82);
  const auto c = triangles::with_fill(triangles::nested_grid(7, 6, 5));
  const auto values = triangles::values_of<double>(c, random);
  const Factor<double> factor({c.pattern(), values.data()}, {.width = 10, .threads = 1});
  const Plan plan = make_plan(factor.blocks(), Direction::forward, 8, small_tasks(3));
  host::HostEngine engine({.ranks = 3, .timeout = 20});
  RanksSolve<double> together(engine, factor, plan);
  together.before_task = [&](i32 t) {
    if (t == plan.count() / 2) throw Error(Errc::device, "the task is broken");
  };
  std::vector<double> b(std::size_t(c.n), 1), x(b.size(), 7);
  CHECK_THROWS((together.solve(b.data(), x.data())), Error, "the task is broken");
  CHECK(x == std::vector<double>(b.size(), 7));
}

TEST("a plan of other ranks than the engine's is refused") {
  fresh::Random random(83);
  const auto c = triangles::with_fill(triangles::nested_grid(5, 5, 2));
  const auto values = triangles::values_of<double>(c, random);
  const Factor<double> factor({c.pattern(), values.data()}, {.threads = 1});
  const Plan plan = make_plan(factor.blocks(), Direction::forward, 8, small_tasks(2));
  host::HostEngine engine({.ranks = 3});
  CHECK_THROWS((RanksSolve<double>(engine, factor, plan)), Error, "for 2 ranks, and the engine has 3");
}
