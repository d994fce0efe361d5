// Precond mg: iterations that hardly grow with the grid, with every method that takes more than a diagonal, on awkward grids;
// that M is symmetric and positive; new values; what is refused.
#include <cmath>
#include <functional>
#include <map>

#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"

using namespace cycles;
using namespace problems;

namespace {

std::string text_of(const Extents& g) { return std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]); }

Options with(const Extents& grid, const std::string& method = "cg", const std::string& engine = "host", int ranks = 1) {
  Options o = options(method, engine, ranks);
  o.precond = "mg";
  o.grid = text_of(grid);
  return o;
}

CsrMatrix pressure(const Extents& g, double contrast = 1, int stencil = 7) {
  return poisson(g[0], g[1], g[2], stencil, contrast);
}

/// How often an application restricts the residual of each level, by what it has recorded.
std::vector<int> visits_of(const CsrMatrix& A, const Extents& grid, Cycle cycle) {
  const auto levels = std::make_shared<GridLevels>(A.view(), grid, layers_of(A, grid, 1));
  std::map<i64, int, std::greater<>> by_rows;  // of the coarser level
  host::HostEngine engine({.ranks = 1});
  engine.run([&](Rank& rank) {
    const CsrOperator matrix(rank, A.view(), levels->partition(0));
    const Multigrid M(rank, matrix, levels, cycle);
    const Vec r = M.operand(rank, "r"), z = M.result(rank, "z");
    const Recorded body = rank.record([&] { M.apply(rank, r, z); });
    for (const Command& c : body.recording().commands)
      if (c.name == std::string("Restrict")) by_rows[rank.space(c.space).rows]++;
  });
  std::vector<int> visits;
  for (auto& [rows, times] : by_rows) visits.push_back(times);
  return visits;
}

}  // namespace

TEST("mg: few iterations of cg, whatever the size and the ranks, and no more by a W-cycle") {
  NOTE(fresh::said());
  fresh::Random random(812);
  for (i64 n : {16, 32, 48}) {
    const Extents grid{n, n, n};
    const CsrMatrix A = pressure(grid);
    const auto b = random.normals(A.n);
    for (int ranks : {1, 2, 3}) {
      int iterations[2] = {};
      for (const char* cycle : {"v", "w"}) {
        NOTE(n, "^3 on ", ranks, " ranks, cycle ", cycle);
        Options o = with(grid, "cg", "host", ranks);
        o.cycle = cycle;
        const Solved s = solve(A.view(), b, o);
        REQUIRE(s.report.status == Status::converged);
        CHECK(relative_residual(A, s.x, b) <= 1e-8);
        iterations[*cycle == 'w'] = s.report.iterations;
      }
      NOTE("iterations ", iterations[0], " and ", iterations[1]);
      CHECK(iterations[0] <= 11);
      CHECK(iterations[1] <= 10);
    }
  }
}

TEST("mg: an F-cycle takes no more iterations than V and no fewer than W, on any number of ranks, and is not symmetric") {
  NOTE(fresh::said());
  fresh::Random random(816);
  const Extents grid{32, 32, 48};
  const CsrMatrix A = pressure(grid);
  const auto b = random.normals(A.n);
  for (int ranks : {1, 2, 3}) {
    std::map<std::string, int> iterations;
    for (const char* cycle : {"v", "f", "w"}) {
      Options o = with(grid, "fcg", "host", ranks);
      o.cycle = cycle;
      const Solved s = solve(A.view(), b, o);
      REQUIRE(s.report.status == Status::converged);
      CHECK(relative_residual(A, s.x, b) <= 1e-8 * (1 + 1e-6));
      iterations[cycle] = s.report.iterations;
      o.engine = "model", o.seed = 2;
      CHECK(solve(A.view(), b, o).x == s.x);
    }
    NOTE(ranks, " ranks: ", iterations["v"], ", ", iterations["f"], ", ", iterations["w"], " iterations");
    CHECK(iterations["w"] <= iterations["f"]);
    CHECK(iterations["f"] <= iterations["v"]);
  }
  const auto levels = std::make_shared<GridLevels>(A.view(), grid, layers_of(A, grid, 1));
  const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
  CHECK(!is_symmetric_and_positive(given, applied(A, given, levels, Cycle::f)));
  Options o = with(grid);
  o.cycle = "f";
  CHECK_THROWS(Solver(A.view(), o), Error, "cycle f is not symmetric, which solver cg needs: use solver fcg");
  o.solver = "auto";
  CHECK(Solver(A.view(), o).method() == "fcg");
}

TEST("mg: level l is visited once by V, l + 1 times by F, 2^l times by W, and costs as much as often") {
  const Extents grid{64, 64, 64};
  const CsrMatrix A = pressure(grid);
  for (Cycle cycle : {Cycle::v, Cycle::f, Cycle::w}) {
    const std::vector<int> visits = visits_of(A, grid, cycle);
    REQUIRE(visits.size() >= 4);
    for (std::size_t l = 0; l < visits.size(); l++) {
      NOTE("cycle ", int(cycle), ", level ", l, ": ", visits[l]);
      CHECK(visits[l] == (cycle == Cycle::v ? 1 : cycle == Cycle::f ? int(l) + 1 : 1 << l));
    }
  }
}

TEST("mg: every method that takes any preconditioner, with the same bits on host and model in any order of messages") {
  NOTE(fresh::said());
  fresh::Random random(813);
  const Extents grid{9, 8, 12};
  const CsrMatrix A = pressure(grid, 100);
  const auto b = random.normals(A.n);
  for (auto& m : methods()) {
    if (m.complex == Factors::of_numbers) continue;
    NOTE(m.name);
    if (!m.any_preconditioner) {
      CHECK_THROWS(solve(A.view(), b, with(grid, m.name)), Error, "takes no preconditioner but a diagonal");
      continue;
    }
    for (int ranks : {1, 2, 3}) {
      const Solved host = solve(A.view(), b, with(grid, m.name, "host", ranks));
      CHECK(host.report.status == Status::converged);
      CHECK(relative_residual(A, host.x, b) <= 1e-8);
      for (int seed : {0, 1, 2, 3}) {
        Options o = with(grid, m.name, "model", ranks);
        o.seed = seed;
        CHECK(solve(A.view(), b, o).x == host.x);
      }
    }
  }
}

TEST("mg: awkward grids, contrasts, solids and 27 points are solved") {
  NOTE(fresh::said());
  fresh::Random random(814);
  for (const Extents& grid : {Extents{1, 1, 1}, Extents{7, 1, 1}, Extents{97, 1, 1}, Extents{31, 29, 1}, Extents{13, 11, 17},
                              Extents{5, 40, 23}, Extents{2, 2, 64}})
    for (double contrast : {1.0, 1e3})
      for (double solids : {0.0, 0.2})
        for (int ranks : {1, 2}) {
          NOTE(shown(grid), ", contrast ", contrast, ", solids ", solids, ", ", ranks, " ranks");
          if (ranks > grid[0] * grid[1] * grid[2]) continue;
          const CsrMatrix A = with_solids(random, pressure(grid, contrast), solids);
          const auto b = random.normals(A.n);
          const Solved s = solve(A.view(), b, with(grid, "cg", "host", ranks));
          CHECK(s.report.status == Status::converged);
          CHECK(relative_residual(A, s.x, b) <= 1e-8);
        }
  const Extents grid{20, 24, 28};
  const CsrMatrix A = pressure(grid, 1, 27);
  const auto b = random.normals(A.n);
  const Solved s = solve(A.view(), b, with(grid, "cg", "host", 2));
  NOTE(s.report.iterations, " iterations with 27 points");
  CHECK(s.report.status == Status::converged);
  CHECK(s.report.iterations <= 10);
}

TEST("mg: fewer iterations than jacobi where densities differ a thousandfold, beside solids, too") {
  NOTE(fresh::said());
  fresh::Random random(815);
  const Extents grid{24, 24, 24};
  for (double solids : {0.0, 0.1}) {
    const CsrMatrix A = with_solids(random, pressure(grid, 1e3), solids);
    const auto b = random.normals(A.n);
    Options jacobi = with(grid);
    jacobi.precond = "jacobi";
    const int plain = solve(A.view(), b, jacobi).report.iterations, few = solve(A.view(), b, with(grid)).report.iterations;
    NOTE("solids ", solids, ": ", few, " and ", plain, " iterations");
    CHECK(3 * few <= plain);
  }
}

TEST("mg: what stands on the diagonal of solids is nothing to the fluid beside them") {
  NOTE(fresh::said());
  const Extents grid{24, 24, 24};
  int iterations[2] = {};
  for (bool large : {false, true}) {
    fresh::Random random(820);  // the same solids
    const CsrMatrix A = with_solids(random, pressure(grid), 0.1, large ? 1e6 : 1);
    auto b = random.normals(A.n);
    for (i64 i = 0; i < A.n; i++)
      if (A.values[std::size_t(A.indptr[std::size_t(i)])] == 0) b[std::size_t(i)] = 0;  // nothing within the solids
    iterations[large] = solve(A.view(), b, with(grid)).report.iterations;
  }
  NOTE(iterations[0], " and ", iterations[1], " iterations");
  CHECK(std::abs(iterations[0] - iterations[1]) <= 1);
}

TEST("mg: an application adds no sum, and one rank sends nothing") {
  const Extents grid{16, 16, 16};
  const CsrMatrix A = pressure(grid);
  const std::vector<double> b(std::size_t(A.n), 1.0);
  for (int ranks : {1, 2}) {
    Options polynomial = with(grid, "cg", "host", ranks);
    polynomial.precond = "chebyshev";
    const Report of_polynomial = solve(A.view(), b, polynomial).report,
                 of_levels = solve(A.view(), b, with(grid, "cg", "host", ranks)).report;
    auto beside_iterations = [](const Report& r) { return r.ledger.reductions - 2 * r.iterations; };
    CHECK(beside_iterations(of_levels) == beside_iterations(of_polynomial));
    CHECK((of_levels.ledger.messages > 0) == (ranks > 1));
  }
}

TEST("mg: M is symmetric and positive") {
  NOTE(fresh::said());
  fresh::Random random(816);
  for (const Extents& grid : {Extents{12, 10, 9}, Extents{3, 3, 3}, Extents{40, 1, 1}})
    for (int ranks : {1, 3})
      for (Cycle cycle : {Cycle::v, Cycle::w}) {
        NOTE(shown(grid), ", ", ranks, " ranks, ", cycle == Cycle::w ? "w" : "v");
        const CsrMatrix A = with_solids(random, pressure(grid, 50), 0.1);
        const Partition partition = partition_in_layers(A.n, grid_layers(A.view(), grid, ranks), ranks);
        const auto levels = std::make_shared<GridLevels>(A.view(), grid, partition);
        const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
        CHECK(is_symmetric_and_positive(given, applied(A, given, levels, cycle)));
      }
}

TEST("mg: new values make the levels anew, and refused ones leave the old") {
  NOTE(fresh::said());
  fresh::Random random(817);
  const Extents grid{10, 9, 16};
  const CsrMatrix first = pressure(grid, 200), second = with_solids(random, pressure(grid, 500), 0.1);  // phases in both
  const auto b = random.normals(first.n);
  for (int ranks : {1, 2}) {
    Solver solver(first.view(), with(grid, "cg", "host", ranks));
    const Solved before = solve(solver, b);
    CHECK_THROWS(solver.update_values(with_diagonal(first, 40, -1).data()), Error, "the diagonal of row 40 is not positive");
    CHECK(solve(solver, b).x == before.x);
    solver.update_values(second.values.data());
    CHECK(solve(solver, b).x == solve(second.view(), b, with(grid, "cg", "host", ranks)).x);
    solver.update_values(first.values.data());
    CHECK(solve(solver, b).x == before.x);
  }
}

TEST("mg: phases that come with new values are smoothed by as many products as if they had been there") {
  NOTE(fresh::said());
  fresh::Random random(819);
  const Extents grid{12, 10, 16};
  const CsrMatrix calm = pressure(grid, 1), phases = pressure(grid, 1000);
  const auto b = random.normals(calm.n);
  for (int ranks : {1, 2}) {
    const Options o = with(grid, "cg", "host", ranks);
    Solver solver(calm.view(), o);
    CHECK(solve(solver, b).report.status == Status::converged);
    solver.update_values(phases.values.data());
    const Solved updated = solve(solver, b), made = solve(phases.view(), b, o);
    CHECK(updated.x == made.x);
    CHECK(updated.report.iterations == made.report.iterations);
    solver.update_values(calm.values.data());
    CHECK(solve(solver, b).report.status == Status::converged);
  }
}

TEST("mg: singular systems with the constant vector as nullspace are solved") {
  NOTE(fresh::said());
  fresh::Random random(818);
  const Extents grid{12, 16, 20};
  const CsrMatrix A = neumann(pressure(grid, 30));
  auto b = random.normals(A.n);
  double mean = 0;
  for (double v : b) mean += v / double(A.n);
  for (double& v : b) v -= mean;
  for (int ranks : {1, 2}) {
    Options o = with(grid, "cg", "host", ranks);
    o.nullspace = "constant";
    const Solved s = solve(A.view(), b, o);
    NOTE(s.report.iterations, " iterations");
    CHECK(s.report.status == Status::converged);
    CHECK(relative_residual(A, s.x, b) <= 1.01e-8);
    CHECK(s.report.iterations <= 30);
  }
}

TEST("mg: ranks own about as many layers, whatever their number, and no more is inverted than may be") {
  struct Dealt {
    i64 layers;
    int ranks;
    double most;  // of the busiest rank, beside the mean
  };
  for (const Dealt& given : {Dealt{320, 4, 1}, Dealt{192, 4, 1}, Dealt{96, 8, 1}, Dealt{200, 4, 1.13}, Dealt{400, 4, 1.05},
                             Dealt{100, 4, 1.15}, Dealt{80, 8, 1.2}, Dealt{640, 4, 1}, Dealt{64, 4, 1}, Dealt{97, 3, 1.1}})
    for (i64 wide : {4, 16}) {
      const Extents grid{wide, wide, given.layers};
      const CsrMatrix A = pressure(grid);
      const Tiling layers = grid_layers(A.view(), grid, given.ranks);
      const Partition partition = partition_in_layers(A.n, layers, given.ranks);
      i64 busiest = 0;
      for (int r = 0; r < given.ranks; r++) busiest = std::max<i64>(busiest, partition.rows(r));
      NOTE(shown(grid), " on ", given.ranks, " ranks: layers of ", layers.tile[2], ", the busiest has ", busiest);
      CHECK(double(busiest) * given.ranks <= given.most * double(A.n));
      const GridLevels levels(A.view(), grid, partition);
      CHECK(levels.last_inverse().n <= 400);
      if (given.layers == 64) CHECK(layers.tile[2] == 16);  // as deep as may be, where that is as even
    }
}

TEST("mg: memory is foretold") {
  const Extents grid{16, 12, 20};
  const CsrMatrix A = pressure(grid, 5);
  for (int ranks : {1, 2, 3})
    for (const char* cycle : {"v", "w"}) {
      NOTE(ranks, " ranks, ", cycle);
      Options o = with(grid, "cg", "host", ranks);
      o.cycle = cycle;
      CHECK(estimate_memory({.A = A.view()}, o, ranks, false) == Solver(A.view(), o).memory());
    }
}

TEST("mg: what it is not for is refused with a sentence") {
  NOTE(fresh::said());
  fresh::Random random(819);
  const Extents grid{8, 8, 8};
  const CsrMatrix A = pressure(grid), other = matrices::nonsymmetric(random, 512, 3, 20);
  auto refuses = [](const CsrMatrix& of, const Options& o, const char* sentence) {
    CHECK_THROWS(Solver(of.view(), o), Error, sentence);
  };
  Options o = with(grid);
  o.grid = "";
  refuses(A, o, "precond mg coarsens a grid: give its cells");
  o.grid = "8,8,9";
  refuses(A, o, "grid 8 x 8 x 9 does not have as many cells");
  o.grid = "4,16,8";
  refuses(A, o, "on a grid of 4 x 16 x 8 row 0 has one in column 8");
  refuses(other, with(grid, "bicgstab"), "this one is not symmetric");
  o = with(grid, "cg", "host", 2);
  o.deterministic = "on";
  refuses(A, o, "the levels of precond mg depend on it");
  CsrMatrix negative = A;
  for (double& v : negative.values) v = -v;
  refuses(negative, with(grid), "the diagonal of row 0 is not positive");
  o = with(grid);
  o.level_rows = -1;
  refuses(A, o, "level_rows must be auto, or 0 or more, not -1");
}
