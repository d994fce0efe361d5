// A plan of a triangular solve carried out by ranks of several processes.
#include <chrono>
#include <cstring>
#include <thread>

#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/level_solve.hpp"
#include "sordino/trsv/ranks_solve.hpp"
#include "unit/trsv/triangles.hpp"

using namespace sordino;
using namespace sordino::trsv;
using namespace mpi_world;

namespace {

struct Case {
  explicit Case(fresh::Random random, Direction direction = Direction::forward)
      : c(triangles::with_fill(triangles::nested_grid(7, 7, 5))),
        values(triangles::values_of<double>(c, random)),
        factor({c.pattern(), values.data()}, {.width = 10, .threads = 1}),
        plan(make_plan(factor.blocks(), direction, 8,
                       {.ranks = 2 * processes(), .workers = 1, .task_bytes = 1500, .subtree_bytes = 1000})),
        b(triangles::vector_of<double>(3 * c.n, random)) {}
  triangles::Columns c;
  std::vector<double> values;
  Factor<double> factor;
  Plan plan;
  std::vector<double> b;
};

/// That `together` has the bits of `alone`, whichever process is late.
template <class Solve>
void check_bits(RanksSolve<double>& together, Solve& alone, const std::vector<double>& b) {
  std::vector<double> wanted(b.size());
  alone.solve(b.data(), wanted.data(), 3);
  for (int late = 0; late < processes(); late++) {
    together.before_task = [&](i32 t) {
      if (process() == late && t % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    std::vector<double> x(b.size());
    together.solve(b.data(), x.data(), 3);
    CHECK(std::memcmp(x.data(), wanted.data(), x.size() * sizeof(double)) == 0);
  }
}

host::HostEngine engine(double timeout = 20) { return host::HostEngine({.ranks = 2, .timeout = timeout}, mpi::transport(2)); }

}  // namespace

TEST("x arrives at every process with the bits of one, whichever process is late") {
  for (Direction direction : {Direction::forward, Direction::backward}) {
    const Case k(shared_random(91), direction);
    NOTE(fresh::said());
    auto ranks = engine();
    RanksSolve<double> together(ranks, k.factor, k.plan);
    HostSolve<double> alone(k.factor, k.plan, {.threads = 1});
    check_bits(together, alone, k.b);
  }
}

TEST("rows by levels have the bits of one process in all of them, whichever is late") {
  auto random = shared_random(93);
  NOTE(fresh::said());
  const auto c = triangles::grid(7, 7, 5);
  const auto values = triangles::values_of<double>(c, random);
  LevelFactor<double> factor({c.pattern(), values.data()});
  const auto b = triangles::vector_of<double>(3 * c.n, random);
  for (Direction direction : {Direction::forward, Direction::backward}) {
    factor.prepare(direction);
    const Plan plan = make_level_plan(factor.rows(direction), {.ranks = 2 * processes(), .task_entries = 20});
    auto ranks = engine();
    RanksSolve<double> together(ranks, factor, plan);
    LevelHostSolve<double> alone(factor, plan, {.threads = 1});
    check_bits(together, alone, b);
  }
}

TEST("a task that fails in one process ends all of them with its sentence, in bounded time") {
  const Case k(shared_random(92));
  auto ranks = engine();
  RanksSolve<double> together(ranks, k.factor, k.plan);
  const int culprit = 2 * processes() - 1;
  together.before_task = [&](i32 t) {
    if (k.plan.tasks[std::size_t(t)].rank == culprit) throw Error(Errc::device, "the task is broken");
  };
  std::vector<double> x(k.b.size(), 7);
  const double begin = seconds_now();
  std::string cause;
  try {
    together.solve(k.b.data(), x.data(), 3);
  } catch (const Error& error) {
    cause = error.what();
  }
  CHECK(seconds_now() - begin < 10);
  CHECK(cause.find("the task is broken") != std::string::npos);
  CHECK(cause == of_the_last(cause));
  CHECK(x[0] == 7);
}
