// Every variant of cg with a preconditioner that is no diagonal: it is cg, but for rounding, with one application of M an
// iteration and the sums that it says, also where A is a function or singular, or M is of another kind.
#include <cmath>

#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

struct Variant {
  const char* name;
  int sums;               // an iteration
  int tests_late, ahead;  // iterations that it may count more than cg; applications that it makes beside one an iteration
};
constexpr Variant variants[] = {{"fcg", 2, 1, 1},  {"gropp", 2, 2, 3}, {"cgcg", 1, 1, 2},       {"prcg", 2, 2, 3},
                                {"pcg1", 3, 1, 1}, {"pcg2", 3, 1, 1},  {"pcg-overlap", 3, 1, 1}};
constexpr const char* operators[] = {"mg", "amg", "chebyshev", "block-ilu", "ic0"};

Options with(const std::string& method, const std::string& precond, int ranks, const std::string& engine = "host") {
  Options o = options(method, engine, ranks);
  o.precond = precond;
  o.grid = "14,11,24";
  return o;
}

double apart(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> d = a;
  for (std::size_t i = 0; i < d.size(); i++) d[i] -= b[i];
  return matrices::norm(d) / matrices::norm(b);
}

/// One sweep of Jacobi's after another, from zero, counted: symmetric, and definite where the diagonal dominates.
HostFunction two_sweeps(const CsrMatrix& A, int& calls) {
  return [&A, &calls](const double* r, double* z) {
    calls++;
    auto entry = [&](i64 k) { return A.values[std::size_t(k)]; };
    std::vector<double> d(std::size_t(A.n)), t(std::size_t(A.n));
    for (i64 i = 0; i < A.n; i++)
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
        if (A.indices[std::size_t(k)] == i) d[std::size_t(i)] = entry(k), t[std::size_t(i)] = r[i] / entry(k);
    for (i64 i = 0; i < A.n; i++) {
      double left = r[i];
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
        left -= entry(k) * t[std::size_t(A.indices[std::size_t(k)])];
      z[i] = t[std::size_t(i)] + left / d[std::size_t(i)];
    }
  };
}

HostFunction times(const CsrMatrix& A) {
  return [&A](const double* x, double* y) {
    for (i64 i = 0; i < A.n; i++) {
      y[i] = 0;
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
        y[i] += A.values[std::size_t(k)] * x[A.indices[std::size_t(k)]];
    }
  };
}

}  // namespace

TEST("cg's variants with operators as M: as many iterations as cg, its x, and the model's bits are the host's") {
  NOTE(fresh::said());
  fresh::Random random(940);
  for (double contrast : {1.0, 1e3}) {
    const CsrMatrix A = poisson(14, 11, 24, 7, contrast);
    const auto b = random.normals(A.n);
    for (const char* precond : operators)
      for (int ranks : {1, 2, 3}) {
        const Solved classic = solve(A.view(), b, with("cg", precond, ranks));
        REQUIRE(classic.report.status == Status::converged);
        for (const Variant& v : variants) {
          const Solved s = solve(A.view(), b, with(v.name, precond, ranks));
          NOTE(v.name, " with ", precond, ", contrast ", contrast, ", ", ranks, " ranks: ", s.report.iterations, " and ",
               classic.report.iterations, " iterations");
          CHECK(s.report.status == Status::converged);
          CHECK(s.report.recoveries.empty());
          CHECK(matrices::exact_residual(A.view(), b, s.x) <= 1e-8 * matrices::norm(b) * (1 + 1e-10));
          CHECK(std::abs(s.report.iterations - classic.report.iterations) <= v.tests_late);
          CHECK(apart(s.x, classic.x) <= 1e-5);
          Options model = with(v.name, precond, ranks, "model");
          for (model.seed = 0; model.seed < 2; model.seed++) CHECK(solve(A.view(), b, model).x == s.x);
        }
      }
  }
}

TEST("cg's variants with operators as M: an iteration takes the sums that it says, and one application") {
  NOTE(fresh::said());
  fresh::Random random(941);
  const CsrMatrix A = poisson(14, 11, 24, 7, 10);
  const auto b = random.normals(A.n);
  for (const Variant& v : variants) {
    NOTE(v.name);
    for (int ranks : {1, 3}) {
      int calls = 0;
      auto run = [&](int iterations) {
        Options o = options(v.name, "host", ranks);
        o.rtol = 1e-300, o.maxiter = iterations, o.check_every = 1000000;
        calls = 0;
        Solver solver({.A = A.view(), .preconditioner = two_sweeps(A, calls)}, o);
        return problems::solve(solver, b).report.ledger.reductions;
      };
      const i64 few = run(6);
      const int calls_of_few = calls;
      const i64 sums = run(16) - few;
      CHECK(sums == 10 * v.sums);
      CHECK(calls - calls_of_few == 10);
      CHECK(calls_of_few <= 6 + v.ahead + 1);  // a product for the residual of x takes none
    }
  }
}

TEST("cg's variants: A and M may both be functions") {
  NOTE(fresh::said());
  fresh::Random random(942);
  const CsrMatrix A = poisson(14, 11, 24, 7, 10);
  const auto b = random.normals(A.n);
  for (const Variant& v : variants)
    for (int ranks : {1, 2}) {
      NOTE(v.name, ", ", ranks, " ranks");
      int calls = 0;
      Solver of_functions({.product = times(A), .A = {.n = A.n}, .preconditioner = two_sweeps(A, calls)},
                          options(v.name, "host", ranks));
      Solver of_entries({.A = A.view(), .preconditioner = two_sweeps(A, calls)}, options(v.name, "host", ranks));
      const Solved s = problems::solve(of_functions, b);
      CHECK(s.report.status == Status::converged);
      CHECK(apart(s.x, problems::solve(of_entries, b).x) <= 1e-7);
    }
}

TEST("cg's variants with mg: closed boxes are solved in about as many iterations as cg takes") {
  NOTE(fresh::said());
  fresh::Random random(943);
  const CsrMatrix A = neumann(poisson(14, 11, 24, 7, 100));
  auto b = random.normals(A.n);
  double mean = 0;
  for (double v : b) mean += v / double(A.n);
  for (double& v : b) v -= mean;
  for (const char* precond : {"mg", "amg"})
    for (int ranks : {1, 2}) {
      auto of = [&](const char* method) {
        Options o = with(method, precond, ranks);
        o.nullspace = "constant";
        return problems::solve(A.view(), b, o);
      };
      const Solved classic = of("cg");
      for (const Variant& v : variants) {
        const Solved s = of(v.name);
        NOTE(v.name, " with ", precond, ", ", ranks, " ranks: ", s.report.iterations, " and ", classic.report.iterations);
        CHECK(s.report.status == Status::converged);
        CHECK(matrices::exact_residual(A.view(), b, s.x) <= 1e-8 * matrices::norm(b) * (1 + 1e-6));
        CHECK(s.report.iterations <= classic.report.iterations + classic.report.iterations / 4 + 2);
      }
    }
}
