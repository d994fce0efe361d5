// How often what a solver records looks at x: a GPU captures as many iterations as lie between two looks.
#include <algorithm>

#include "check.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/api/solver.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;

namespace {

/// The longest stretch of iterations after which commands of a loop repeat, and how many loops there are.
struct Repeats {
  int longest = 0, loops = 0;
};

Repeats recorded(const std::string& precond, int check_every) {
  const CsrMatrix A = poisson(16, 12, 8, 7, 1);
  Options o;
  o.solver = "cg", o.precond = precond, o.cycle = "w", o.grid = "16,12,8", o.check_every = check_every;
  Repeats found;
  auto engine = std::make_unique<host::HostEngine>(host::Options{.ranks = 1, .timeout = 20});
  engine->run(
      [&](Rank& rank) {
        rank.mutate = [&](Recording& r) {
          found.loops += r.is_loop;
          for (auto& c : r.commands) found.longest = std::max(found.longest, c.every);
        };
      },
      {});
  Solver solver(A.view(), o, EngineChoice{std::move(engine), "threads"});
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  CHECK(solver.solve(b.data(), x.data()).status == Status::converged);
  return found;
}

}  // namespace

TEST("multigrid looks at x every second iteration, other preconditioners as often as they are asked to") {
  for (int asked : {1, 2, 7, 32}) {
    NOTE("asked for ", asked);
    const Repeats levels = recorded("mg", asked), jacobi = recorded("jacobi", asked);
    CHECK(levels.loops > 0);
    CHECK(jacobi.loops > 0);
    CHECK(levels.longest <= 2);
    CHECK(jacobi.longest == asked);
  }
}
