// Multigrid over MPI processes: coarse levels that live on fewer ranks, with the bits of as many threads of one process.
#include "check.hpp"
#include "mpi_world.hpp"
#include "problems.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace problems;
using namespace mpi_world;

TEST("mg over processes: some own nothing of coarse levels, and bits are those of threads") {
  fresh::Random random = shared_random(209);
  NOTE(fresh::said());
  const CsrMatrix A = poisson(10, 9, 17, 7, 30.0);
  const auto b = random.normals(A.n);
  for (int each : {1, 2})
    for (const char* cycle : {"v", "w"})
      for (int level_rows : {0, 100, 16384}) {
        NOTE(processes(), " processes of ", each, " ranks, ", cycle, ", level_rows ", level_rows);
        Options o = options("cg", "host", each);
        o.precond = "mg", o.grid = "10,9,17", o.cycle = cycle, o.level_rows = level_rows;
        Solver over(A.view(), o);
        CHECK(over.ranks() == each * processes());
        const Solved found = solve(over, b);
        CHECK(found.report.status == Status::converged);
        o.ranks = each * processes();
        host::Options threads{.ranks = o.ranks};
        Solver alone(A.view(), o, EngineChoice{std::make_unique<host::HostEngine>(threads), "threads"});
        const Solved expected = solve(alone, b);
        CHECK(found.report.iterations == expected.report.iterations);
        CHECK(same_bits(found.report.history, expected.report.history));
        if (process() == 0) CHECK(same_bits(found.x, expected.x));
      }
}
