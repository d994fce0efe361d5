// Matrices and preconditioners that are functions of the host, and callbacks that look at x.
#include <cmath>

#include "check.hpp"
#include "problems.hpp"
#include "sordino/api/solver.hpp"

using namespace sordino;

namespace {

HostFunction times(const CsrMatrix& A, int* calls = nullptr) {
  return [&A, calls](const double* x, double* y) {
    if (calls) ++*calls;
    for (i64 i = 0; i < A.n; i++) {
      y[i] = 0;
      for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) y[i] += A.values[k] * x[A.indices[k]];
    }
  };
}

std::vector<double> inverse_diagonal(const CsrMatrix& A) {
  std::vector<double> d(static_cast<std::size_t>(A.n));
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++)
      if (A.indices[k] == i) d[std::size_t(i)] = 1 / A.values[k];
  return d;
}

HostFunction scaling(const std::vector<double>& d) {
  return [&d](const double* x, double* y) {
    for (std::size_t i = 0; i < d.size(); i++) y[i] = d[i] * x[i];
  };
}

Options options(const std::string& method, const std::string& engine, int ranks) {
  Options o;
  o.solver = method;
  o.engine = engine;
  o.ranks = ranks;
  o.rtol = 1e-9;
  return o;
}

struct Run {
  Report report;
  std::vector<double> x;
  int steps = 1;
};

Run solve(const System& system, const Options& o) {
  Solver solver(system, o);
  std::vector<double> b(std::size_t(system.A.n), 1.0), x(b.size());
  for (std::size_t i = 0; i < b.size(); i++) b[i] += 0.1 * double(i % 7);
  Report report = solver.solve(b.data(), x.data());
  return {report, x, solver.steps()};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); i++) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace

TEST("a matrix and a preconditioner that are functions solve as the entries do, with the same bits on any number of ranks") {
  CsrMatrix A = poisson(7, 6, 5, 7, 10.0);
  auto d = inverse_diagonal(A);
  for (const char* method : {"cg", "bicgstab"}) {
    Run entries = solve({.A = A.view()}, options(method, "host", 1));
    REQUIRE(entries.report.status == Status::converged);
    Run first;
    for (const char* engine : {"host", "model"})
      for (int ranks : {1, 2, 3, 5}) {
        NOTE(method, ", ", engine, ", ", ranks, " ranks");
        System functions{.product = times(A), .A = {.n = A.n}, .preconditioner = scaling(d)};
        Run run = solve(functions, options(method, engine, ranks));
        CHECK(run.report.status == Status::converged);
        CHECK(std::abs(run.report.iterations - entries.report.iterations) <= 1);
        CHECK(largest_difference(run.x, entries.x) < 1e-6);
        if (first.x.empty()) first = run;
        CHECK(run.x == first.x);
        CHECK(run.report.history == first.report.history);
        Run mixed = solve({.A = A.view(), .preconditioner = scaling(d)}, options(method, engine, ranks));
        CHECK(mixed.report.status == Status::converged);
        CHECK(largest_difference(mixed.x, entries.x) < 1e-6);
      }
  }
}

TEST("a preconditioner that is a matrix is distributed: the bits of the same one as a function") {
  CsrMatrix A = poisson(7, 6, 5, 7, 1.0),
            M = A;  // M = 2 I / 12 - A / 144, two terms of Neumann's series of A^-1, up to a factor
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) M.values[k] = (A.indices[k] == i ? 1.0 / 6 : 0.0) - A.values[k] / 144;
  for (const char* method : {"cg", "bicgstab"}) {
    Run function = solve({.A = A.view(), .preconditioner = times(M)}, options(method, "host", 1));
    CHECK(function.report.status == Status::converged);
    for (const char* engine : {"host", "model"})
      for (int ranks : {1, 2, 3, 5}) {
        NOTE(method, ", ", engine, ", ", ranks, " ranks");
        Run matrix = solve({.A = A.view(), .inverse = M.view()}, options(method, engine, ranks));
        CHECK(matrix.x == function.x);
        CHECK(matrix.report.history == function.report.history);
      }
    System both{.product = times(A), .A = {.n = A.n}, .inverse = M.view()};
    CHECK(solve(both, options(method, "host", 3)).x == function.x);
  }
  CHECK_THROWS(solve({.A = A.view(), .inverse = M.view()}, options("pipebicgstab", "host", 1)), Error,
               "no preconditioner but a diagonal");
  CsrMatrix other = poisson(3, 3, 3, 7, 1.0);
  CHECK_THROWS(solve({.A = A.view(), .inverse = other.view()}, options("cg", "host", 1)), Error, "has 27 rows, the matrix 210");
}

TEST("a diagonal that the caller gives is fused as Jacobi's is: the same bits, in every method") {
  CsrMatrix A = poisson(5, 5, 5, 27, 1.0);
  auto d = inverse_diagonal(A);
  for (auto& m : methods()) {
    Options o = options(m.name, "host", 3);
    Run given = solve({.A = A.view(), .diagonal = d}, o);
    o.precond = "jacobi";
    CHECK(given.x == solve({.A = A.view()}, o).x);
  }
}

TEST("a function is called once an application") {
  CsrMatrix A = poisson(6, 6, 6, 7, 1.0);
  for (auto [method, products] : {std::pair("cg", 1), std::pair("bicgstab", 2)}) {
    int calls = 0;
    Run run = solve({.product = times(A, &calls), .A = {.n = A.n}}, options(method, "host", 4));
    CHECK(run.report.status == Status::converged);
    CHECK(calls == products * run.report.iterations + 2);  // and the residual, before and after
  }
  const std::vector<double> d = inverse_diagonal(A);
  int calls = 0;
  const HostFunction scale = scaling(d);
  auto counted = [&](const double* r, double* z) { calls++, scale(r, z); };
  Run run = solve({.A = A.view(), .preconditioner = counted}, options("cg", "host", 4));
  CHECK(run.report.status == Status::converged);
  CHECK(calls == run.report.iterations + 1);  // of each r, the last one too, whose norm comes with (r,z)
}

TEST("looks see every x, of the iteration that they say, and the last one is the solution") {
  CsrMatrix A = poisson(6, 6, 6, 7, 1.0);
  for (auto& m : methods())
    for (const char* engine : {"host", "model"})
      for (int every : {1, 3})
        for (int ranks : {1, 3}) {
          NOTE(m.name, ", ", engine, ", every ", every, ", ", ranks, " ranks");
          std::vector<int> seen;
          std::vector<double> last;
          Watch watch{.every = every, .x = true, .look = [&](int iteration, double residual, const double* x) {
                        CHECK(std::isfinite(residual));
                        seen.push_back(iteration);
                        last.assign(x, x + A.n);
                      }};
          Options o = options(m.name, engine, ranks);
          o.s = 4;
          Run run = solve({.A = A.view(), .watch = watch}, o);
          REQUIRE(run.report.status == Status::converged);
          CHECK(!seen.empty());
          if (every == 1) {
            CHECK(int(seen.size()) * run.steps == run.report.iterations);
            CHECK(last == run.x);
          }
          for (int at : seen) {
            CHECK(at <= run.report.iterations);
            CHECK(at % run.steps == 0);
          }
        }
}

TEST("what a look or a function throws fails the solve with its cause, and NaN is never converged") {
  CsrMatrix A = poisson(4, 4, 4, 7, 1.0);
  System broken{.product = [](const double*, double*) { throw std::runtime_error("out of ink"); }, .A = {.n = A.n}};
  CHECK_THROWS(solve(broken, options("cg", "host", 2)), Error, "out of ink");
  System nan{.product = [&](const double*, double* y) { std::fill(y, y + A.n, NAN); }, .A = {.n = A.n}};
  for (const char* method : {"cg", "bicgstab"}) CHECK(solve(nan, options(method, "host", 2)).report.status == Status::diverged);
}

TEST("what does not go together is refused with a sentence") {
  CsrMatrix A = poisson(3, 3, 3, 7, 1.0);
  auto d = inverse_diagonal(A);
  System function{.product = times(A), .A = {.n = A.n}};
  CHECK_THROWS(solve(function, options("pipebicgstab", "host", 1)), Error,
               "solver pipebicgstab needs the entries of the matrix");
  CHECK_THROWS(solve({.A = A.view(), .preconditioner = scaling(d)}, options("pipebicgstab", "host", 1)), Error,
               "solver pipebicgstab takes no preconditioner but a diagonal");
  Options jacobi = options("cg", "host", 1);
  jacobi.precond = "jacobi";
  CHECK_THROWS(solve(function, jacobi), Error, "jacobi needs the entries of the matrix");
  CHECK_THROWS(solve({.A = A.view(), .diagonal = d}, jacobi), Error, "choose one");
  std::vector<double> few(3, 1.0);
  CHECK_THROWS(solve({.A = A.view(), .diagonal = few}, options("cg", "host", 1)), Error, "has 3 entries, the matrix 27 rows");
  d[4] = INFINITY;
  CHECK_THROWS(solve({.A = A.view(), .diagonal = d}, options("cg", "host", 1)), Error, "NaN or Inf at row 4");
  CHECK_THROWS(Solver(function, options("cg", "host", 1)).update_values(d.data()), Error, "given as a function");
}

TEST("the estimate of memory is what a solver then holds") {
  CsrMatrix small = poisson(12, 11, 10, 27, 1.0), flat = poisson(40, 40, 1, 7, 1.0);
  auto nothing = [](int, double, const double*) {};
  for (const CsrMatrix* A : {&small, &flat})
    for (auto& m : methods())
      for (int ranks : {1, 2, 4}) {
        NOTE(m.name, ", ", ranks, " ranks");
        for (int kind = 0; kind < 5; kind++) {
          System s{.A = A->view()};
          if (kind >= 2 && !m.any_preconditioner) continue;
          if (kind == 1) s.watch = {.every = 2, .x = true, .look = nothing};
          if (kind == 2) s.preconditioner = times(*A);
          if (kind == 3) s = {.product = times(*A), .A = {.n = A->n}};
          if (kind == 4) s.inverse = A->view();
          Options o = options(m.name, "host", ranks);
          auto held = Solver(s, o).memory();
          auto estimated = estimate_memory(s, o, ranks, false);
          REQUIRE(held.size() == estimated.size());
          for (std::size_t r = 0; r < held.size(); r++)
            CHECK_NEAR(double(estimated[r]), double(held[r]), 0.02 * double(held[r]));
        }
      }
}
