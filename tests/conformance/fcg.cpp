// Solver fcg: with preconditioners that change from one application to the next, or are not symmetric, with which cg does not
// get on; with the same symmetric one each time it is cg.
#include <cmath>

#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

const CsrMatrix& matrix() {
  static const CsrMatrix A = poisson(12, 12, 12, 7, 1);
  return A;
}

double diagonal(const CsrMatrix& A, i64 i) {
  for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
    if (A.indices[std::size_t(k)] == i) return A.values[std::size_t(k)];
  return 0;
}

/// r - A z of a row.
double left(const CsrMatrix& A, i64 i, const double* r, const double* z) {
  double sum = r[i];
  for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
    sum -= A.values[std::size_t(k)] * z[A.indices[std::size_t(k)]];
  return sum;
}

/// Damped sweeps of Jacobi's from zero: another number of them each time, counted from where a solve begins.
HostFunction inner_sweeps(const CsrMatrix& A, int& calls) {
  return [&A, &calls](const double* r, double* z) {
    constexpr int sweeps[] = {1, 6, 2, 8, 3};
    std::vector<double> change(std::size_t(A.n));
    std::fill(z, z + A.n, 0.0);
    for (int sweep = 0; sweep < sweeps[calls % 5]; sweep++) {
      for (i64 i = 0; i < A.n; i++) change[std::size_t(i)] = 0.7 * left(A, i, r, z) / diagonal(A, i);
      for (i64 i = 0; i < A.n; i++) z[i] += change[std::size_t(i)];
    }
    calls++;
  };
}

/// One sweep of Gauss and Seidel's from zero, the inverse of a lower triangle: the same each time, but not symmetric.
HostFunction gauss_seidel(const CsrMatrix& A) {
  return [&A](const double* r, double* z) {
    std::fill(z, z + A.n, 0.0);
    for (i64 i = 0; i < A.n; i++) z[i] = left(A, i, r, z) / diagonal(A, i);
  };
}

Solved solve(const System& system, const std::vector<double>& b, const Options& o) {
  Solver solver(system, o);
  return problems::solve(solver, b);
}

void check_converged(const Solved& s, const std::vector<double>& b) {
  CHECK(s.report.status == Status::converged);
  CHECK(matrices::exact_residual(matrix().view(), b, s.x) <= 1e-8 * matrices::norm(b) * (1 + 1e-6));
}

}  // namespace

TEST("fcg: inner sweeps whose number changes take cg twice the iterations and more") {
  NOTE(fresh::said());
  fresh::Random random(910);
  const auto b = random.normals(matrix().n);
  Solved first;
  for (const char* engine : {"host", "model"})
    for (int ranks : {1, 2, 3}) {
      auto of = [&](const char* method) {
        int calls = 0;
        return solve({.A = matrix().view(), .preconditioner = inner_sweeps(matrix(), calls)}, b,
                     options(method, engine, ranks));
      };
      const Solved flexible = of("fcg"), classic = of("cg");
      NOTE(engine, ", ranks = ", ranks, ": ", flexible.report.iterations, " iterations, cg ", classic.report.iterations);
      check_converged(flexible, b);
      CHECK(flexible.report.recoveries.empty());
      CHECK(2 * flexible.report.iterations < classic.report.iterations);
      if (first.x.empty()) first = flexible;
      CHECK(same_bits(flexible.x, first.x));
      CHECK(same_bits(flexible.report.history, first.report.history));
    }
}

TEST("fcg: a preconditioner that is not symmetric, with which cg does not converge") {
  NOTE(fresh::said());
  fresh::Random random(911);
  const auto b = random.normals(matrix().n);
  const System system{.A = matrix().view(), .preconditioner = gauss_seidel(matrix())};
  const Solved flexible = solve(system, b, options("fcg", "host", 2));
  NOTE(flexible.report.iterations, " iterations: ", flexible.report.reason);
  check_converged(flexible, b);
  Options o = options("cg", "host", 2);
  o.maxiter = 5 * flexible.report.iterations;
  const Solved classic = solve(system, b, o);
  NOTE("cg: ", classic.report.reason);
  CHECK(classic.report.status != Status::converged);
}

TEST("fcg: with the same symmetric preconditioner each time residuals are those of cg") {
  NOTE(fresh::said());
  fresh::Random random(912);
  const auto b = random.normals(matrix().n);
  for (const char* precond : {"none", "jacobi", "sqrt-jacobi", "chebyshev", "block-ilu", "ic0", "mg"})
    for (int ranks : {1, 3}) {
      auto of = [&](const char* method) {
        Options o = options(method, "host", ranks);
        o.precond = precond;
        o.grid = "12,12,12";
        o.rtol = 1e-6;
        return problems::solve(matrix().view(), b, o).report;
      };
      const Report flexible = of("fcg"), classic = of("cg");
      NOTE(precond, ", ", ranks, " ranks: ", flexible.iterations, " and ", classic.iterations);
      CHECK(flexible.status == Status::converged);
      CHECK(std::abs(flexible.iterations - classic.iterations) <= 1);
      for (std::size_t i = 0; i < 8 && i < flexible.history.size(); i++)
        CHECK_NEAR(flexible.history[i], classic.history[i], 1e-6 * classic.history[i]);
    }
}

TEST("fcg: M may be negative, and an M^-1 r that is orthogonal to r is a breakdown with a sentence") {
  const CsrMatrix A = matrices::csr({{{0, 4.0}, {1, 1.0}}, {{0, 1.0}, {1, 3.0}}});
  const std::vector<double> b{1, 2};
  auto by = [&](const HostFunction& M) { return solve({.A = A.view(), .preconditioner = M}, b, options("fcg", "host", 1)); };
  CHECK(by([](const double* r, double* z) { z[0] = -r[0], z[1] = -r[1]; }).report.status == Status::converged);
  const Report turned = by([](const double* r, double* z) { z[0] = -r[1], z[1] = r[0]; }).report;
  CHECK(turned.status == Status::breakdown);
  CHECK(turned.reason.starts_with("a scalar product of the recurrence vanished"));
}

TEST("fcg: of an operator as the preconditioner two sums an iteration, of one and three values") {
  std::vector<double> b;
  for (i64 i = 0; i < matrix().n; i++) b.push_back(1 + double(i * 7919 % 101) / 101);
  for (const char* engine : {"host", "model"}) {
    auto ledger = [&](int iterations) {
      Options o = options("fcg", engine, 2);
      o.precond = "chebyshev";
      o.rtol = 1e-300;
      o.maxiter = iterations;
      o.check_every = 1000000;
      return problems::solve(matrix().view(), b, o).report.ledger;
    };
    const Ledger l = difference(ledger(12), ledger(8));
    CHECK(l.reductions == 4 * 2);
    CHECK(l.reduced_values == 4 * 4);
  }
}

TEST("fcg: ilu0 is taken, which cg refuses") {
  const std::vector<double> b(std::size_t(matrix().n), 1.0);
  Options o = options("fcg", "host", 2);
  o.precond = "ilu0";
  check_converged(problems::solve(matrix().view(), b, o), b);
  o.solver = "cg";
  CHECK_THROWS(problems::solve(matrix().view(), b, o), Error, "use precond ic0, or solver fcg, bicgstab or gmres");
}
