// Solver gmres: that it minimizes the residual, as SciPy's does, in any cycle; what it costs; where cycles end early.
#include "sordino/solvers/gmres.hpp"
#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/partition.hpp"

using namespace problems;

namespace {

Options cycles_of(int m, const char* engine = "host", int ranks = 1) {
  Options o = options("gmres", engine, ranks);
  o.precond = "none";
  o.restart = m;
  return o;
}

/// Convection across a square grid, upwards and to the right, by central differences: with a large cell Peclet number the
/// eigenvalues lie along the imaginary axis, where BiCGStab's minimization over one direction finds nothing.
CsrMatrix convection(i64 side, double peclet) {
  matrices::Rows rows(static_cast<std::size_t>(side * side));
  for (i64 y = 0; y < side; y++)
    for (i64 x = 0; x < side; x++) {
      auto& row = rows[std::size_t(y * side + x)];
      row[i32(y * side + x)] = 4;
      if (x > 0) row[i32(y * side + x - 1)] = -1 - peclet / 2;
      if (x + 1 < side) row[i32(y * side + x + 1)] = -1 + peclet / 2;
      if (y > 0) row[i32((y - 1) * side + x)] = -1 - peclet / 4;
      if (y + 1 < side) row[i32((y + 1) * side + x)] = -1 + peclet / 4;
    }
  return matrices::csr(rows);
}

/// x_i goes to row i + 1: full GMRES finds nothing in n - 1 steps, and the solution in the next.
CsrMatrix shift(i64 n) {
  matrices::Rows rows(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++) {
    rows[std::size_t((i + 1) % n)][i32(i)] = 1;
    rows[std::size_t(i)][i32(i)] += 0;
  }
  return matrices::csr(rows);
}

std::vector<double> unit(i64 n, i64 i) {
  std::vector<double> e(static_cast<std::size_t>(n));
  e[std::size_t(i)] = 1;
  return e;
}

CsrMatrix dense(fresh::Random& random, i64 n) {
  matrices::Rows rows(static_cast<std::size_t>(n));
  for (auto& row : rows)
    for (i64 j = 0; j < n; j++) row[i32(j)] = random.normal();
  return matrices::csr(rows);
}

/// Residual norms of GMRES(m) in long double, by orthogonalizing twice and solving the normal equations of each step anew with
/// Givens rotations: relative to b.
std::vector<double> reference(const CsrView& A, const std::vector<double>& b, int m, int steps) {
  using Long = std::vector<long double>;
  auto dot = [](const Long& a, const Long& c) {
    long double s = 0;
    for (std::size_t i = 0; i < a.size(); i++) s += a[i] * c[i];
    return s;
  };
  auto times = [&](const Long& v) {
    Long y(v.size());
    for (i64 i = 0; i < A.n; i++)
      for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) y[std::size_t(i)] += A.values[k] * v[std::size_t(A.indices[k])];
    return y;
  };
  std::vector<double> told;
  Long r(b.begin(), b.end());
  const long double b_norm = std::sqrt(dot(r, r));
  while (int(told.size()) < steps) {
    // The residual of a cycle is what is left of r beside the span of A V: that is made orthonormal as it grows.
    std::vector<Long> V{r}, images;
    for (int j = 0; j < m && int(told.size()) < steps; j++) {
      Long w = times(V.back()), image = w;
      for (int pass = 0; pass < 2; pass++)
        for (auto& q : images) {
          const long double c = dot(q, image);
          for (std::size_t i = 0; i < q.size(); i++) image[i] -= c * q[i];
        }
      const long double size = std::sqrt(dot(image, image));
      for (auto& value : image) value /= size;
      images.push_back(image);
      const long double c = dot(image, r);
      for (std::size_t i = 0; i < r.size(); i++) r[i] -= c * image[i];
      told.push_back(double(std::sqrt(dot(r, r)) / b_norm));
      for (int pass = 0; pass < 2; pass++)
        for (auto& v : V) {
          const long double d = dot(v, w) / dot(v, v);
          for (std::size_t i = 0; i < w.size(); i++) w[i] -= d * v[i];
        }
      const long double length = std::sqrt(dot(w, w));
      for (auto& value : w) value /= length;
      V.push_back(w);
    }
  }
  return told;
}

bool says(const Solved& s, const std::string& words) { return s.report.reason.find(words) != std::string::npos; }

}  // namespace

TEST("gmres: after each step of each cycle the residual is the smallest of its space") {
  NOTE(fresh::said());
  fresh::Random random(900);
  for (double peclet : {0.1, 1.0, 10.0}) {
    CsrMatrix A = convection(14, peclet);
    auto b = random.normals(A.n);
    for (int m : {1, 2, 5, 6, 7, 20, 30, 62}) {
      Options o = cycles_of(m);
      o.maxiter = 70;
      Solved s = solve(A.view(), b, o);
      NOTE("Peclet number ", peclet, ", m = ", m, ": ", s.report.reason);
      const auto& told = s.report.history;
      REQUIRE(told.size() == std::size_t(s.report.iterations));
      const auto wanted = reference(A.view(), b, m, s.report.iterations);
      for (std::size_t i = 0; i < told.size(); i++) CHECK_NEAR(told[i] / wanted[i], 1, 1e-6);
      CHECK_NEAR(s.report.true_residual / told.back(), 1, 1e-6);
    }
  }
}

// The solution is drawn, not b. Of n normal numbers a row, A's condition is beyond t n in about two of t cases (Edelman 1988):
// x of a b that was drawn is then as large, and rounding of A x alone beyond 1e-11 |b|. Of this b it is a few n u |b|.
TEST("gmres: whole, it ends in n steps, of any matrix") {
  NOTE(fresh::said());
  fresh::Random random(901);
  for (i64 n : {1, 2, 7, 30, 50})
    for (double rtol : {1e-8, 1e-11}) {
      CsrMatrix A = dense(random, n);
      std::vector<double> b;
      for (long double y : matrices::exact_product(A.view(), random.normals(n)).y) b.push_back(double(y));
      Options o = cycles_of(gmres::most_m);
      o.rtol = rtol;
      Solved s = solve(A.view(), b, o);
      NOTE("n = ", n, ", rtol = ", rtol, ": ", s.report.iterations, ", ", s.report.reason);
      CHECK(s.report.status == Status::converged);
      CHECK(s.report.iterations <= n + 1);  // the last test may wait for the second pass
      CHECK(s.report.recoveries.empty());
      CHECK(matrices::exact_residual(A.view(), b, s.x) <= rtol * matrices::norm(b) * (1 + 1e-6));
    }
}

TEST("gmres: convection on which bicgstab breaks down or stalls") {
  NOTE(fresh::said());
  fresh::Random random(902);
  CsrMatrix A = convection(20, 200);
  auto b = random.normals(A.n);
  Options o = cycles_of(62), other = options("bicgstab", "host", 1);
  o.maxiter = other.maxiter = 2000;
  other.precond = "none";
  Solved s = solve(A.view(), b, o), t = solve(A.view(), b, other);
  NOTE(s.report.iterations, ": ", s.report.reason, "; bicgstab ", t.report.iterations, ": ", t.report.reason);
  CHECK(s.report.status == Status::converged);
  CHECK(t.report.status != Status::converged);
}

TEST("gmres: an invariant subspace is an end, whatever the tolerance") {
  NOTE(fresh::said());
  fresh::Random random(903);
  matrices::Rows rows(60);  // three eigenvalues: the solution is there after three steps
  for (i64 i = 0; i < 60; i++) rows[std::size_t(i)][i32(i)] = double(1 + i % 3 * i % 3);
  CsrMatrix A = matrices::csr(rows);
  for (double rtol : {1e-6, 1e-10, 1e-14}) {
    Options o = cycles_of(30);
    o.rtol = rtol;
    Solved s = solve(A.view(), random.normals(60), o);
    NOTE("rtol = ", rtol, ": ", s.report.iterations, ", ", s.report.reason);
    CHECK(s.report.status == Status::converged);
    CHECK(s.report.iterations <= 4);
    CHECK(s.report.recoveries.empty());
  }
}

TEST("gmres: cycles that find nothing end at maxiter, and one that is long enough finds all") {
  const i64 n = 40;
  CsrMatrix A = shift(n);
  for (const char* engine : {"host", "model"})
    for (int m : {1, 5, 39}) {
      Options o = cycles_of(m, engine, 3);
      o.maxiter = 200;
      Solved s = solve(A.view(), unit(n, 0), o);
      NOTE(engine, ", m = ", m, ": ", s.report.reason);
      CHECK(s.report.status == Status::max_iterations);
      CHECK(s.report.iterations == 200);
      CHECK(s.report.residual_norm == 1);
      for (double x : s.x) CHECK(x == 0);
    }
  Solved s = solve(A.view(), unit(n, 0), cycles_of(40));
  CHECK(s.report.status == Status::converged);
  CHECK(s.report.iterations <= n + 1);
}

TEST("gmres: singular systems are solved where b allows it, and are a breakdown where nothing is left to try") {
  NOTE(fresh::said());
  fresh::Random random(904);
  const i64 n = 30;
  matrices::Rows rows(static_cast<std::size_t>(n));  // x_i goes to row i - 1: nilpotent
  for (i64 i = 0; i < n; i++) {
    rows[std::size_t(i)][i32(i)] = 0;
    if (i + 1 < n) rows[std::size_t(i)][i32(i + 1)] = 1;
  }
  CsrMatrix N = matrices::csr(rows);
  Solved nothing = solve(N.view(), unit(n, 0), cycles_of(62));  // A b = 0
  NOTE(nothing.report.reason);
  CHECK(nothing.report.status == Status::breakdown);
  CHECK(nothing.report.residual_norm == 1);
  CHECK(says(nothing, "restarting from the best x no longer helps"));

  for (i64 i = 0; i < n; i++) rows[std::size_t(i)] = {{i32(i), i < 20 ? random.real(1, 3) : 0.0}};
  CsrMatrix A = matrices::csr(rows);
  auto b = random.normals(n);
  for (i64 i = 20; i < n; i++) b[std::size_t(i)] = 0;
  Options o = cycles_of(30);
  Solved consistent = solve(A.view(), b, o);
  NOTE(consistent.report.reason);
  CHECK(consistent.report.status == Status::converged);
  b[25] = 1;
  Solved inconsistent = solve(A.view(), b, o);
  NOTE(inconsistent.report.reason);
  CHECK(inconsistent.report.status != Status::converged);
  CHECK(inconsistent.report.residual_norm >= 1 - 1e-6);  // what A cannot reach
  CHECK(inconsistent.report.residual_norm <= (1 + 1e-12) * matrices::norm(b));
}

TEST("gmres: callbacks are told the residual of the x that they look at, in the middle of cycles") {
  NOTE(fresh::said());
  fresh::Random random(905);
  CsrMatrix A = convection(12, 2.0);
  auto b = random.normals(A.n);
  for (const char* precond : {"none", "jacobi"}) {
    Options o = cycles_of(10, "host", 2);
    o.precond = precond;
    o.maxiter = 44;
    o.rtol = 1e-13;
    std::vector<double> told, of_x;
    System system{.A = A.view()};
    system.watch = {.every = 3, .x = true, .look = [&](int, double residual, const double* x) {
                      told.push_back(residual);
                      of_x.push_back(matrices::exact_residual(A.view(), b, {x, x + A.n}) / matrices::norm(b));
                    }};
    Solver watched(system, o);
    Solved s = solve(watched, b), alone = solve(A.view(), b, o);
    NOTE(precond, ": ", s.report.reason);
    REQUIRE(told.size() == 14);
    for (std::size_t i = 0; i < told.size(); i++) {
      CHECK(told[i] == s.report.history[3 * i + 2]);
      CHECK_NEAR(of_x[i] / told[i], 1, 1e-6);
    }
    CHECK(s.report.history == alone.report.history);  // looks change nothing of the iterations
    CHECK_NEAR(s.report.true_residual / s.report.history.back(), 1, 1e-6);
  }
}

TEST("gmres: with an operator as M it keeps M^-1 u, and solves as with the same M as a diagonal") {
  NOTE(fresh::said());
  fresh::Random random(906);
  CsrMatrix A = convection(12, 2.0), M = A;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) M.values[k] = A.indices[k] == i ? 0.25 + 0.01 * double(i % 7) : 0;
  std::vector<double> diagonal;
  for (i64 i = 0; i < A.n; i++) diagonal.push_back(0.25 + 0.01 * double(i % 7));
  auto b = random.normals(A.n);
  Options o = options("gmres", "host", 1);
  o.restart = 12;
  Solver fused({.A = A.view(), .diagonal = diagonal}, o);
  Solved wanted = solve(fused, b), first;
  CHECK(wanted.report.status == Status::converged);
  for (const char* engine : {"host", "model"})
    for (int ranks : {1, 2, 3, 7}) {
      o.engine = engine;
      o.ranks = ranks;
      Solver kept({.A = A.view(), .inverse = M.view()}, o);
      Solved s = solve(kept, b);
      NOTE(engine, ", ranks = ", ranks, ": ", s.report.iterations, " and ", wanted.report.iterations);
      CHECK(s.report.status == Status::converged);
      CHECK(std::abs(s.report.iterations - wanted.report.iterations) <= 1);
      for (std::size_t i = 0; i + 1 < s.report.history.size(); i++)
        CHECK_NEAR(s.report.history[i] / wanted.report.history[i], 1, 1e-6);
      if (first.x.empty()) first = s;
      CHECK(same_bits(s.x, first.x));
    }
}

TEST("gmres: a preconditioner that is another one each time is what flexible GMRES is for") {
  NOTE(fresh::said());
  fresh::Random random(907);
  CsrMatrix A = convection(12, 2.0);
  auto b = random.normals(A.n);
  int calls = 0;
  System system{.A = A.view(), .preconditioner = [&](const double* v, double* z) {
                  const double by = calls++ % 3 == 0 ? 1 : calls % 3 == 1 ? 0.2 : 3;
                  for (i64 i = 0; i < A.n; i++) z[i] = by * (1 + 0.3 * double((i + calls) % 5)) * v[i];
                }};
  Options o = options("gmres", "host", 1);
  Solver solver(system, o);
  Solved s = solve(solver, b);
  NOTE(s.report.iterations, ": ", s.report.reason);
  CHECK(s.report.status == Status::converged);
  CHECK(s.report.recoveries.empty());
  CHECK(matrices::exact_residual(A.view(), b, s.x) <= o.rtol * matrices::norm(b) * (1 + 1e-6));
}

TEST("gmres: vector traffic and workspace are what the header says") {
  CsrMatrix A = poisson(6, 6, 40, 7, 50);
  std::vector<double> b;
  for (i64 i = 0; i < A.n; i++) b.push_back(1 + double(i * 7919 % 101) / 101);
  for (int m : {6, 14, 30, 62}) {
    auto solver_of = [&](const char* precond) {
      Options o = cycles_of(m);
      o.precond = precond;
      o.storage = "csr";
      o.rtol = 1e-300;
      o.check_every = 1000000;
      return o;
    };
    auto ledger = [&](int iterations) {
      Options o = solver_of("jacobi");
      o.maxiter = iterations;
      o.time_commands = true;  // so that it tells of each kind of them
      return solve(A.view(), b, o).report.ledger;
    };
    const Ledger longer = ledger(9), shorter = ledger(5), l = difference(longer, shorter);
    const int t = (m + 2 + 7) / 8;
    NOTE("m = ", m);
    CHECK(l.reduced_values == 4 * 16 * t);
    CHECK(l.reductions == 4);
    CHECK(l.commands == 4 * (3 + 2 * t));
    double bytes = 0;
    for (const char* name : {"Project", "Update"}) bytes += longer.kernels.at(name).bytes - shorter.kernels.at(name).bytes;
    CHECK_NEAR(bytes / 4 / (8 * double(A.n)), m + 2 * t + 6, 0.2);
    const i64 held = Solver(A.view(), solver_of("jacobi")).memory()[0], words = held / (8 * A.n);
    CHECK(words >= m + 3 + 4);
    CHECK(words <= m + 3 + 4 + 1 + (2 * m * m + 40 * m) / A.n);  // and row pointers, and small matrices
  }
}

TEST("gmres: refuses what it does not take") {
  CsrMatrix A = convection(3, 1.0);
  for (int m : {0, gmres::most_m + 1})
    CHECK_THROWS(Solver(A.view(), cycles_of(m)), Error, "restart must be from 1 to 62, not ");
}
