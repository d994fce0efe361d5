// Solver richardson: that it is the stationary iteration, that multigrid is a solver by it, with the cycle's own factor, and
// what it says where it diverges.
#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/tiling.hpp"

using namespace cycles;
using namespace problems;

namespace {

Options with_levels(const Extents& grid, const char* engine, int ranks, const std::string& cycle) {
  Options o = options("richardson", engine, ranks);
  o.precond = "mg";
  o.cycle = cycle;
  o.grid = std::to_string(grid[0]) + "," + std::to_string(grid[1]) + "," + std::to_string(grid[2]);
  return o;
}

/// The spectral radius of I - M^-1 A, by powers of it.
double factor_of(const CsrMatrix& A, const Extents& grid, int ranks, Cycle cycle, std::vector<double> e) {
  const auto levels = std::make_shared<GridLevels>(A.view(), grid, layers_of(A, grid, ranks));
  double factor = 0;
  for (int power = 0; power < 40; power++) {
    std::vector<double> Ae;
    for (long double v : matrices::exact_product(A.view(), e).y) Ae.push_back(double(v));
    const auto z = applied(A, {Ae}, levels, cycle)[0];
    const double before = matrices::norm(e);
    for (std::size_t i = 0; i < e.size(); i++) e[i] -= z[i];
    factor = matrices::norm(e) / before;
  }
  return factor;
}

/// Diagonals three times and more what any row or column adds up to beside its own, so that each step has a smaller residual
/// than the one before: where it has not, the x that is handed out is another one.
void dominate(fresh::Random& random, CsrMatrix& A) {
  std::vector<double> sums(2 * std::size_t(A.n));
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (const i32 j = A.indices[std::size_t(k)]; j != i)
        for (const std::size_t at : {std::size_t(i), std::size_t(A.n) + std::size_t(j)})
          sums[at] += std::abs(A.values[std::size_t(k)]);
  const double largest = *std::max_element(sums.begin(), sums.end());
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (A.indices[std::size_t(k)] == i) A.values[std::size_t(k)] = random.real(3, 6) * largest;
}

/// Pairs of rows with couplings that are large beside their diagonals: eigenvalues of D^-1 A are 1 - c and 1 + c.
CsrMatrix pairs(i64 n, double c) {
  matrices::Rows r(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++) r[std::size_t(i)] = {{i32(i), 1.0}, {i32(i ^ 1), c}};
  return matrices::csr(r);
}

}  // namespace

TEST("richardson: by multigrid it converges with the factor of the cycle, on any number of ranks, on host and model") {
  NOTE(fresh::said());
  fresh::Random random(920);
  const Extents grid{16, 16, 24};
  const CsrMatrix A = poisson(grid[0], grid[1], grid[2], 7, 10.0);
  const auto b = random.normals(A.n);
  for (int ranks : {1, 3})
    for (const char* cycle : {"v", "f", "w"}) {
      const double factor = factor_of(A, grid, ranks, cycle_of(cycle), random.normals(A.n));
      for (const char* engine : {"host", "model"}) {
        Options o = with_levels(grid, engine, ranks, cycle);
        o.rtol = 1e-11;
        const Solved s = solve(A.view(), b, o);
        const auto& h = s.report.history;
        REQUIRE(h.size() > 8);
        const double last = std::pow(h.back() / h[h.size() - 6], 1.0 / 5);
        NOTE(engine, ", ", ranks, " ranks, ", cycle, ": ", s.report.iterations, " iterations, factor ", last, " of ", factor);
        CHECK(s.report.status == Status::converged);
        CHECK(relative_residual(A, s.x, b) <= 1e-11 * (1 + 1e-6));
        CHECK(factor < 0.6);
        CHECK_NEAR(last, factor, 0.1 * factor);
      }
    }
}

TEST("richardson: cycles of any kind take about as many iterations on any grid") {
  NOTE(fresh::said());
  fresh::Random random(924);
  for (i64 n : {24, 48}) {
    const Extents grid{n, n, n};
    const CsrMatrix A = poisson(n, n, n, 7, 1);
    const auto b = random.normals(A.n);
    for (const char* cycle : {"v", "f", "w"}) {
      const Report r = solve(A.view(), b, with_levels(grid, "host", 2, cycle)).report;
      NOTE(n, "^3, ", cycle, ": ", r.iterations, " iterations");
      CHECK(r.status == Status::converged);
      CHECK(r.iterations <= 18);
    }
  }
}

TEST("richardson: x after k iterations is what its definition says, for any omega and ranks") {
  NOTE(fresh::said());
  fresh::Random random(921);
  CsrMatrix A = matrices::nonsymmetric(random, 60, 3, 60);
  dominate(random, A);
  const auto b = random.normals(A.n), x0 = random.normals(A.n);
  const auto rows = matrices::rows(A);
  for (double omega : {1.0, 0.5, 0.125}) {
    std::vector<double> x = x0;
    for (int k = 1; k <= 4; k++) {
      const auto product = matrices::exact_product(A.view(), x).y;
      for (std::size_t i = 0; i < x.size(); i++) x[i] += omega * (b[i] - double(product[i])) / rows[i].at(i32(i));
      for (int ranks : {1, 3}) {
        NOTE("omega ", omega, ", ", k, " iterations on ", ranks, " ranks");
        Options o = options("richardson", "host", ranks);
        o.precond = "jacobi";
        o.omega = omega;
        o.maxiter = k;
        o.check_every = 1;
        o.rtol = 1e-14;
        const Solved s = solve(A.view(), b, o, x0.data());
        CHECK(s.report.status == Status::max_iterations);
        CHECK(s.report.iterations == k);
        for (std::size_t i = 0; i < x.size(); i++) CHECK_NEAR(s.x[i], x[i], 1e-12 * (1 + std::abs(x[i])));
      }
    }
  }
}

TEST("richardson: where it diverges it says so in one sentence, and hands out no worse x than it was given") {
  NOTE(fresh::said());
  fresh::Random random(922);
  const CsrMatrix A = pairs(200, 1.5);  // of which -0.5 and 2.5 are eigenvalues
  const auto b = random.normals(A.n), x0 = random.normals(A.n);
  for (const char* engine : {"host", "model"})
    for (int ranks : {1, 2}) {
      NOTE(engine, ", ", ranks, " ranks");
      Options o = options("richardson", engine, ranks);
      o.precond = "jacobi";
      const Solved s = solve(A.view(), b, o, x0.data());
      NOTE(s.report.reason);
      CHECK(s.report.status == Status::diverged);
      CHECK(s.report.reason.find("omega M^-1 A has eigenvalues further than 1 from 1") != std::string::npos);
      CHECK(s.report.reason.find('\n') == std::string::npos);
      CHECK(s.report.iterations < 100);
      CHECK(matrices::exact_residual(A.view(), b, s.x) <= matrices::exact_residual(A.view(), b, x0) * (1 + 1e-12));
    }
  const CsrMatrix definite = pairs(200, 0.9);
  Options o = options("richardson", "host", 2);
  o.precond = "none";
  o.omega = 1.2;  // 1 - 1.2 * 1.9 is below -1
  CHECK(solve(definite.view(), b, o).report.status == Status::diverged);
  o.omega = 0.9;
  CHECK(solve(definite.view(), b, o).report.status == Status::converged);
}

TEST("richardson: any preconditioner, also one that changes and one that is not symmetric") {
  NOTE(fresh::said());
  fresh::Random random(923);
  const CsrMatrix A = poisson(6, 7, 8, 7, 1);
  const auto b = random.normals(A.n);
  for (const char* precond : {"jacobi", "sqrt-jacobi", "chebyshev", "block-ilu", "ic0", "ilu0", "amg"})
    for (int ranks : {1, 3}) {
      Options o = options("richardson", "host", ranks);
      o.precond = precond;
      o.grid = "6,7,8";
      if (precond == std::string("amg")) o.omega = 0.8;
      const Solved s = solve(A.view(), b, o);
      NOTE(precond, ", ", ranks, " ranks: ", s.report.iterations, " iterations, ", s.report.reason);
      CHECK(s.report.status == Status::converged);
      CHECK(relative_residual(A, s.x, b) <= 1e-8 * (1 + 1e-6));
    }
}

TEST("richardson: an iteration adds up one value, with an operator as the preconditioner, too") {
  const CsrMatrix A = poisson(6, 6, 40, 7, 50);
  const std::vector<double> b(std::size_t(A.n), 1.0);
  auto ledger = [&](int iterations) {
    Options o = options("richardson", "model", 2);
    o.precond = "chebyshev";
    o.rtol = 1e-300;
    o.maxiter = iterations;
    o.check_every = 1000000;
    return solve(A.view(), b, o).report.ledger;
  };
  const Ledger l = difference(ledger(12), ledger(8));
  CHECK(l.reductions == 4);
  CHECK(l.reduced_values == 4);
}

TEST("richardson: omega must be a positive number") {
  const CsrMatrix A = pairs(4, 0.5);
  for (double omega : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    Options o = options("richardson", "host", 1);
    o.omega = omega;
    CHECK_THROWS(Solver(A.view(), o), Error, "omega must be a finite number > 0");
  }
}
