// What precond=auto takes of grids: mg where one solve is foretold to be faster by it, jacobi elsewhere, and why.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/api/levels_choice.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

std::string text_of(const Extents& g) { return std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]); }

CsrMatrix pressure(const Extents& g, double contrast = 1) { return poisson(g[0], g[1], g[2], 7, contrast); }

Options with(const Extents& grid, int ranks = 2) {
  Options o = options("auto", "host", ranks);
  o.grid = text_of(grid);
  return o;
}

/// What is taken, and that the reason holds these words.
void takes(const System& system, const Options& o, const std::string& precond, const std::string& why) {
  const Solver solver(system, o);
  NOTE(solver.preconditioner(), ": ", solver.why_preconditioner());
  CHECK(solver.preconditioner() == precond);
  CHECK(solver.why_preconditioner().find(why) != std::string::npos);
}

/// As an implicit step in time has it: a part of its diagonal more in each row.
CsrMatrix with_share(CsrMatrix A, double share) {
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (A.indices[std::size_t(k)] == i) A.values[std::size_t(k)] *= 1 + share;
  return A;
}

/// Of cells with a density each, from 1 to `contrast`: harmonic means on faces, and walls half a cell behind the first ones.
CsrMatrix of_cells(CsrMatrix A, fresh::Random& random, double contrast) {
  std::vector<double> density;
  for (i64 i = 0; i < A.n; i++) density.push_back(std::pow(contrast, random.real(0, 1)));
  for (i64 i = 0; i < A.n; i++) {
    double sum = 0;
    const auto entries = [&](auto&& act) {
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
        act(A.indices[std::size_t(k)], A.values[std::size_t(k)]);
    };
    entries([&](i64 j, double& value) {
      if (j != i) sum -= value = -2 / (density[std::size_t(i)] + density[std::size_t(j)]);
    });
    entries([&](i64 j, double& value) {
      if (j == i) value = sum + 2 / density[std::size_t(i)] * (i == 0);
    });
  }
  return A;
}

constexpr Extents large{48, 48, 48}, small{20, 20, 20};

}  // namespace

TEST("precond auto: iterations with jacobi are foretold within a half in boxes of any shape, and with a step in time") {
  NOTE(fresh::said());
  fresh::Random random(950);
  for (const Extents& grid : {Extents{16, 16, 16}, Extents{24, 20, 28}, Extents{48, 30, 11}, Extents{80, 70, 1}})
    for (double share : {0.0, 0.003, 0.05})
      for (double rtol : {1e-5, 1e-8}) {
        const CsrMatrix A = with_share(pressure(grid), share);
        Options o = options("cg", "host", 1);
        o.precond = "jacobi", o.rtol = rtol;
        const int taken = solve(A.view(), random.normals(A.n), o).report.iterations;
        const double foretold = foretold_of(A.view(), grid, rtol).jacobi;
        NOTE(text_of(grid), ", share ", share, ", rtol ", rtol, ": ", taken, " iterations, foretold ", foretold);
        CHECK(foretold < 1.3 * taken + 2);
        CHECK(foretold > taken / 1.5 - 2);
      }
}

TEST("precond auto: solid cells have no part in what is foretold") {
  CsrMatrix A = pressure({20, 20, 20});
  const double open = foretold_of(A.view(), {20, 20, 20}, 1e-8).jacobi;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) {
      auto solid = [](i64 cell) { return cell % 20 < 2; };
      const i64 j = A.indices[std::size_t(k)];
      if (solid(i) || solid(j)) A.values[std::size_t(k)] = i == j ? (solid(i) ? 1e6 : A.values[std::size_t(k)]) : 0;
    }
  CHECK_NEAR(foretold_of(A.view(), {20, 20, 20}, 1e-8).jacobi, open, 0.25 * open);
}

TEST("precond auto: where each cell has a density of its own, a millionfold, more is counted for mg, and not for two phases") {
  NOTE(fresh::said());
  fresh::Random random(953);
  const Extents grid{20, 20, 20};
  const double usual = foretold_of(pressure(grid).view(), grid, 1e-8).mg;
  CHECK(foretold_of(pressure(grid, 1e6).view(), grid, 1e-8).mg == usual);
  CHECK(foretold_of(of_cells(pressure(grid), random, 1e3).view(), grid, 1e-8).mg == usual);
  const double mixed = foretold_of(of_cells(pressure(grid), random, 1e6).view(), grid, 1e-8).mg;
  NOTE("as long as ", usual, " of Jacobi's iterations, and ", mixed);
  CHECK(mixed > 2 * usual);
}

TEST("precond auto takes mg on large grids, and jacobi where that is foretold to take few iterations") {
  NOTE(fresh::said());
  fresh::Random random(951);
  const CsrMatrix A = pressure(large, 10), few = pressure(small), steps = with_share(A, 0.1);
  const std::string told = "jacobi is foretold to take ", at_least = " of them";
  for (int ranks : {1, 2}) {
    Options o = with(large, ranks);
    takes({.A = A.view()}, o, "mg", told);
    o.solver = "cg";
    takes({.A = A.view()}, o, "mg", at_least);
    takes({.A = steps.view()}, o, "jacobi", told);
    o.grid = text_of(small);
    takes({.A = few.view()}, o, "jacobi", told);
  }
  const auto b = random.normals(A.n);
  Options o = with(large);
  const Solved automatic = solve(A.view(), b, o);
  CHECK(automatic.report.status == Status::converged);
  CHECK(matrices::exact_residual(A.view(), b, automatic.x) <= 1e-8 * matrices::norm(b) * (1 + 1e-10));
  o.precond = "mg";
  takes({.A = A.view()}, o, "mg", "asked for");
  CHECK(solve(A.view(), b, o).x == automatic.x);
}

TEST("precond auto stays with jacobi where mg cannot be had, or is not to be") {
  const CsrMatrix A = pressure(large);
  const System system{.A = A.view()};
  Options o = with(large);
  o.grid = "";
  takes(system, o, "jacobi", "no grid is given");
  o.grid = "48,48,24";
  takes(system, o, "jacobi", "not as many cells");
  o.grid = "96,24,48";  // of as many cells, but not this one's
  takes(system, o, "jacobi", "");
  o = with(large);
  for (const char* solver : {"bicgstab", "gropp", "cgcg"}) {
    o.solver = solver;
    takes(system, o, "jacobi", "with cg alone");
  }
  o = with(large);
  o.cycle = "f";
  takes(system, o, "jacobi", "cycle f is not symmetric");
  CsrMatrix uncoupled = A;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (A.indices[std::size_t(k)] != i) uncoupled.values[std::size_t(k)] = 0;
  takes(System{.A = uncoupled.view()}, with(large), "jacobi", "foretold to take");
  o = with(large);
  o.engine = "model";
  takes(system, o, "jacobi", "on a described machine");
  o = with(large);
  o.deterministic = "on";
  takes(system, o, "jacobi", "depend on the number of ranks");
  o.ranks = 1;
  takes(system, o, "mg", "foretold");
  CsrMatrix skew = A;
  skew.values[1] *= 2;
  o = with(large);
  o.solver = "cg", o.symmetry = "auto";
  takes({.A = skew.view()}, o, "jacobi", "not symmetric");
  o = with({256, 256, 2}, 2);
  const CsrMatrix flat = pressure({256, 256, 2});
  takes({.A = flat.view()}, o, "jacobi", "");
}

TEST("precond auto decides anew where new values want another engine, and keeps what it took for others") {
  NOTE(fresh::said());
  fresh::Random random(952);
  const CsrMatrix A = pressure(large), B = pressure(large, 30);
  const auto b = random.normals(A.n);
  Solver solver({.A = A.view()}, with(large));
  CHECK(solver.preconditioner() == "mg");
  solver.update_values(B.values.data());
  CHECK(problems::solve(solver, b).x == solve(B.view(), b, with(large)).x);
}
