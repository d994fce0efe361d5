// What a solve says when it cannot say `converged`, and that it never says so falsely.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

struct Setting {
  const char* engine;
  int ranks;
};
constexpr Setting settings[] = {{"host", 1}, {"host", 3}, {"model", 1}, {"model", 3}};

/// Whatever was said is true of x: the norm is that of x, and `converged` meets the tolerance.
void check_honest(const CsrView& A, const std::vector<double>& b, const Solved& s, const Options& o) {
  const Report& r = s.report;
  NOTE(name(r.status), ": ", r.reason);
  double exact = matrices::exact_residual(A, b, s.x), slack = rounding(A, s.x, b), b_norm = matrices::norm(b);
  CHECK(!r.reason.empty());
  CHECK(r.reason.find('\n') == std::string::npos);
  if (!std::isfinite(exact)) {
    CHECK(r.status != Status::converged);
    return;
  }
  CHECK_NEAR(r.residual_norm, exact, slack + 1e-10 * exact);
  if (r.status == Status::converged) CHECK(exact <= std::max(o.rtol * b_norm, o.atol) * (1 + 1e-12) + slack);
}

CsrMatrix indefinite(fresh::Random& random, i64 n) {
  CsrMatrix A = matrices::spd(random, n, 3, n);
  auto r = matrices::rows(A);
  for (i64 i = 0; i < n; i += 2) r[std::size_t(i)][i32(i)] *= -1;
  return matrices::csr(r);
}

}  // namespace

TEST("cg on a matrix that is not SPD says indefinite or breakdown, and keeps the best x") {
  NOTE(fresh::said());
  fresh::Random random(120);
  for (const char* method : {"cg", "prcg"})
    for (auto& at : settings) {
      NOTE(method, " on ", at.engine, ", ranks = ", at.ranks);
      CsrMatrix A = indefinite(random, 300);
      auto b = random.normals(300), x0 = random.normals(300);
      Options o = options(method, at.engine, at.ranks);
      o.precond = "none";
      o.check_every = 1;
      for (const double* start : {static_cast<const double*>(nullptr), static_cast<const double*>(x0.data())}) {
        Solved s = solve(A.view(), b, o, start);
        CHECK((s.report.status == Status::indefinite || s.report.status == Status::breakdown));
        check_honest(A.view(), b, s, o);
        double began = start ? matrices::exact_residual(A.view(), b, x0) : matrices::norm(b);
        CHECK(s.report.residual_norm <= began * (1 + 1e-12));
      }
    }
}

TEST("a negative preconditioner is noticed, too") {
  CsrMatrix A = matrices::csr({{{0, -4.0}, {1, 1.0}}, {{0, 1.0}, {1, -3.0}}});
  Options o = options("cg", "host", 1);
  o.precond = "none";
  CHECK(solve(A.view(), {1, 2}, o).report.status == Status::indefinite);
}

TEST("b = 0 has the solution 0, whatever x0") {
  NOTE(fresh::said());
  fresh::Random random(121);
  for (auto& p : all(random))
    for (auto& m : methods()) {
      if (!takes(m, p)) continue;
      for (auto& at : settings) {
        if (at.ranks > p.A.n) continue;
        NOTE(m.name, ", ", p.name, " on ", at.engine);
        std::vector<double> zero(p.b.size());
        Solved s = solve(p.A.view(), zero, options(m.name, at.engine, at.ranks), p.x0.data());
        CHECK(s.report.status == Status::converged);
        CHECK(s.report.iterations == 0);
        CHECK(s.report.residual_norm == 0);
        CHECK(s.report.true_residual == 0);
        CHECK(s.x == zero);
      }
    }
}

TEST("an x0 that solves the system is the answer, after no iteration") {
  NOTE(fresh::said());
  fresh::Random random(122);
  for (auto& p : all(random))
    for (auto& m : methods()) {
      if (!takes(m, p)) continue;
      std::vector<double> b;
      for (long double y : matrices::exact_product(p.A.view(), p.x0).y) b.push_back(double(y));
      Options o = options(m.name, "host", 3);
      Solved s = solve(p.A.view(), b, o, p.x0.data());
      NOTE(m.name, ", ", p.name);
      CHECK(s.report.status == Status::converged);
      CHECK(s.report.iterations == 0);
      CHECK(s.report.history.empty());
      CHECK(s.x == p.x0);
    }
}

TEST("a negative definite matrix is indefinite for cg, even where a step along it brings the residual far down") {
  NOTE(fresh::said());
  fresh::Random random(128);
  std::vector<std::map<i32, double>> rows;
  for (i32 i = 0; i < 100; i++) rows.push_back({{i, -random.real(1, 1 + 1e-5)}});
  CsrMatrix A = matrices::csr(rows);
  auto b = random.normals(100);
  for (const char* method : {"cg", "prcg", "cgcg"})
    for (auto& at : settings) {
      NOTE(method, " on ", at.engine, ", ranks = ", at.ranks);
      Options o = options(method, at.engine, at.ranks);
      o.precond = "none";
      o.rtol = 1e-10;
      Solved s = solve(A.view(), b, o);
      CHECK(s.report.status == Status::indefinite);
      check_honest(A.view(), b, s, o);
    }
}

TEST("the maximum number of iterations is kept, and the best x is honest") {
  NOTE(fresh::said());
  fresh::Random random(123);
  CsrMatrix A = poisson(9, 9, 9, 7, 100);
  auto b = random.normals(A.n);
  for (auto& m : methods())
    for (auto& at : settings)
      for (int most : {1, 2, 3, 17}) {
        NOTE(m.name, " on ", at.engine, ", ranks = ", at.ranks, ", maxiter = ", most);
        Options o = options(m.name, at.engine, at.ranks);
        o.rtol = 1e-13;
        o.maxiter = most;
        Solved s = solve(A.view(), b, o);
        CHECK(s.report.status == Status::max_iterations);
        CHECK(s.report.iterations == most);
        CHECK(s.report.reason.find("the maximum number of iterations is reached; relative residual ") == 0);
        CHECK(s.report.reason.ends_with(" after " + std::to_string(most) + " iterations"));
        check_honest(A.view(), b, s, o);
      }
}

TEST("a tolerance beyond the attainable accuracy is never said to be met") {
  NOTE(fresh::said());
  fresh::Random random(124);
  for (auto& p : all(random))
    for (auto& m : methods()) {
      if (!takes(m, p)) continue;
      for (double rtol : {1e-14, 1e-15, 1e-16, 1e-18}) {
        NOTE(m.name, ", ", p.name, ", rtol = ", rtol);
        Options o = options(m.name, "host", 2);
        o.rtol = rtol;
        o.maxiter = 600;
        Solved s = solve(p.A.view(), p.b, o);
        check_honest(p.A.view(), p.b, s, o);
        // A few rows, or a diagonal, may be solved to the last bit: then nothing is left, and any tolerance is met.
        if (rtol < 1e-17 && s.report.residual_norm > 0) CHECK(s.report.status != Status::converged);
      }
    }
}

TEST("a recurrence that runs on into underflow says that accuracy is exhausted, and nothing of the matrix") {
  CsrMatrix A = poisson(12, 12, 12, 7, 1e5);
  for (double& a : A.values) a *= 1e20;  // so that (r,z) underflows long before (r,r)
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (auto& m : methods())
    for (int ranks : {1, 2, 3, 4}) {
      NOTE(m.name, ", ranks = ", ranks);
      Options o = options(m.name, "host", ranks);
      o.rtol = 1e-250;
      o.maxiter = 3000;
      Solved s = solve(A.view(), b, o);
      check_honest(A.view(), b, s, o);
      // Other recurrences may level out far above this tolerance.
      if (m.name == "cg") CHECK(s.report.status == Status::stagnated);
      CHECK(s.report.status != Status::indefinite);
      CHECK(s.report.status != Status::diverged);
    }
}

TEST("an absolute tolerance counts where it is the larger one") {
  NOTE(fresh::said());
  fresh::Random random(125);
  Case p = problem(random, "spd", matrices::spd(random, 400, 3, 400), true);
  for (auto& m : methods()) {
    NOTE(m.name);
    Options o = options(m.name, "host", 2);
    o.rtol = 0;
    o.atol = 1e-3;
    Solved loose = solve(p.A.view(), p.b, o);
    o.rtol = 1e-10;
    Solved both = solve(p.A.view(), p.b, o);
    CHECK(loose.report.status == Status::converged);
    CHECK(loose.report.residual_norm <= 1e-3);
    CHECK(same_bits(loose.x, both.x));
    o.atol = 0;
    CHECK(solve(p.A.view(), p.b, o).report.iterations > loose.report.iterations);
  }
}

TEST("a singular system is solved where it is consistent, and never said to be where it is not") {
  NOTE(fresh::said());
  fresh::Random random(126);
  i64 n = 200;  // a ring with Neumann's rows: its kernel holds the constants
  matrices::Rows r(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++)
    for (i64 j : {(i + 1) % n, (i + n - 1) % n}) r[std::size_t(i)][i32(j)] -= 1, r[std::size_t(i)][i32(i)] += 1;
  CsrMatrix A = matrices::csr(r);
  std::vector<double> consistent = random.normals(n);
  double mean = 0;
  for (double v : consistent) mean += v / double(n);
  for (double& v : consistent) v -= mean;
  auto inconsistent = consistent;
  for (double& v : inconsistent) v += 0.5;
  for (auto& m : methods())
    for (const char* precond : {"none", "jacobi"})
      for (auto& at : settings) {
        NOTE(m.name, " with ", precond, " on ", at.engine, ", ranks = ", at.ranks);
        Options o = options(m.name, at.engine, at.ranks);
        o.precond = precond;
        o.maxiter = 1000;
        Solved s = solve(A.view(), consistent, o);
        if (m.needs_spd) CHECK(s.report.status == Status::converged);
        check_honest(A.view(), consistent, s, o);
        s = solve(A.view(), inconsistent, o);
        CHECK(s.report.status != Status::converged);
        check_honest(A.view(), inconsistent, s, o);
      }
}

TEST("numbers that overflow inside end with an honest status, and the next solve is fine") {
  NOTE(fresh::said());
  fresh::Random random(127);
  CsrMatrix A = matrices::spd(random, 100, 3, 100), huge = A;
  for (double& v : huge.values) v *= 1e250;
  auto b = random.normals(100), x0 = b;
  for (double& v : x0) v *= 1e200;
  for (auto& m : methods())
    for (const char* precond : {"none", "jacobi"})
      for (auto& at : settings) {
        NOTE(m.name, " with ", precond, " on ", at.engine, ", ranks = ", at.ranks);
        Options o = options(m.name, at.engine, at.ranks);
        o.precond = precond;
        check_honest(huge.view(), b, solve(huge.view(), b, o), o);
        Solver solver(A.view(), o);
        Solved s = solve(solver, b, x0.data());
        if (s.report.status == Status::converged) CHECK(matrices::exact_residual(A.view(), b, s.x) <= 2e-8 * matrices::norm(b));
        if (gets_on(m, precond)) CHECK(solve(solver, b).report.status == Status::converged);
        solver.update_values(huge.values.data());
        check_honest(huge.view(), b, solve(solver, b), o);
        solver.update_values(A.values.data());
        if (gets_on(m, precond)) CHECK(solve(solver, b).report.status == Status::converged);
      }
}

TEST("right-hand sides of any size are solved: their squares may leave the range of a double") {
  NOTE(fresh::said());
  fresh::Random random(128);
  Case p = problem(random, "spd", matrices::spd(random, 150, 3, 150), true);
  for (auto& m : methods())
    for (double size : {1e-300, 1e-200, 1e-80, 1e80, 1e200, 1e300}) {
      NOTE(m.name, ", size ", size);
      auto b = p.b;
      for (double& v : b) v *= size;
      Options o = options(m.name, "host", 2);
      Solver solver(p.A.view(), o);
      Solved s = solve(solver, b);
      CHECK(s.report.status == Status::converged);
      auto scaled_b = b, scaled_x = s.x;  // the audit's squares, too
      for (double& v : scaled_b) v /= size;
      for (double& v : scaled_x) v /= size;
      double exact = matrices::exact_residual(p.A.view(), scaled_b, scaled_x), b_norm = matrices::norm(scaled_b);
      CHECK(exact <= 1e-8 * b_norm * (1 + 1e-6));
      double rounding = 1e-14 * b_norm;  // two sums of the residual differ by some eps |A| |x|, whatever is left of b
      CHECK_NEAR(s.report.true_residual * b_norm, exact, 1e-6 * exact + rounding);
      CHECK_NEAR(s.report.residual_norm / size, exact, 1e-6 * exact + rounding);
      CHECK(solver.options().atol == 0);
    }
}

TEST("methods that take roots of a diagonal refuse one that is not positive") {
  CsrMatrix A = poisson(5, 4, 3, 7, 1), B = A;
  for (double& v : B.values) v = -v;
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (auto& m : methods()) {
    Options o = options(m.name, "host", 2);
    o.precond = "jacobi";
    if (!m.takes_roots) continue;
    NOTE(m.name);
    CHECK_THROWS(solve(B.view(), b, o), Error, "takes the square roots of the diagonal, which is not positive");
    Solver solver(A.view(), o);
    CHECK_THROWS(solver.update_values(B.values.data()), Error, "takes the square roots of the diagonal");
    std::vector<double> d(std::size_t(A.n), 0.5);
    d[7] = -1;
    System given{.A = A.view(), .diagonal = d};
    CHECK_THROWS(Solver(given, options(m.name, "host", 2)), Error, "not positive at row 7");
  }
}

TEST("however seldom checks are asked for, what ends without a tolerance met is no worse than the x of 200 iterations") {
  CsrMatrix A = poisson(16, 16, 16, 7, 1e6);
  std::vector<double> b;
  for (i64 i = 0; i < A.n; i++) b.push_back(std::sin(double(i * i % 97)) + 0.1);
  for (const char* method : {"prcg", "gropp", "bicgstab", "pipebicgstab"}) {
    Options o = options(method, "host", 1);
    o.precond = "none";
    o.rtol = 1e-12;
    o.maxiter = 250;
    o.check_every = 1000000;
    Solved s = solve(A.view(), b, o);
    NOTE(method, ": the last one's ", s.report.history.back());
    CHECK(s.report.status == Status::max_iterations);
    CHECK(s.report.true_residual <= 1.1 * s.report.history[199]);
  }
}
