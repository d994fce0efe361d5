// What a solve does where its recurrence leads no further, and that it tells it.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/solvers/approach.hpp"

using namespace problems;

namespace {

struct Setting {
  const char* engine;
  int ranks;
};
constexpr Setting settings[] = {{"host", 1}, {"host", 3}, {"model", 1}, {"model", 3}};

Options asked(const std::string& method, const Setting& at, double rtol) {
  Options o = options(method, at.engine, at.ranks);
  o.precond = "jacobi";
  o.rtol = rtol;
  o.maxiter = 20000;
  return o;
}

std::vector<double> bumps(i64 n) {
  std::vector<double> b;
  for (i64 i = 0; i < n; i++) b.push_back(std::sin(double(i * i % 97)) + 0.1);
  return b;
}

int count(const Report& r, Recovery::Kind kind) {
  return int(std::count_if(r.recoveries.begin(), r.recoveries.end(), [&](auto& step) { return step.kind == kind; }));
}

bool same(const std::vector<Recovery>& a, const std::vector<Recovery>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Recovery& s, const Recovery& t) {
    return s.iteration == t.iteration && s.kind == t.kind && s.why == t.why && s.residual == t.residual;
  });
}

/// What is told is in order, within the solve, and of residuals that were worth going on from.
void check_told(const Report& r) {
  int last = 0;
  for (const Recovery& step : r.recoveries) {
    NOTE(name(step.kind), " after ", step.iteration, ": ", step.why);
    CHECK(step.iteration >= last);
    CHECK(step.iteration < r.iterations);
    CHECK(!step.why.empty());
    CHECK(std::isfinite(step.residual));
    CHECK(r.true_residual <= 1.000001 * step.residual);  // what was verified is not given up
    last = step.iteration;
  }
}

}  // namespace

TEST("a solve that meets its tolerance by itself tells of no recovery") {
  CsrMatrix A = poisson(9, 8, 7, 7, 100);
  auto b = bumps(A.n);
  for (auto& m : methods()) {
    NOTE(m.name);
    Solved s = solve(A.view(), b, asked(m.name, settings[0], 1e-8));
    CHECK(s.report.status == Status::converged);
    CHECK(s.report.recoveries.empty());
  }
}

TEST("who asks for more than can be had is told so soon: residuals are replaced, then cg goes on, then nothing") {
  for (double contrast : {1.0, 1e3, 1e6}) {
    CsrMatrix A = poisson(12, 11, 13, 7, contrast);
    auto b = bumps(A.n);
    const Solved classic = solve(A.view(), b, asked("cg", settings[0], 1e-17));
    CHECK(classic.report.status == Status::stagnated);
    CHECK(count(classic.report, Recovery::Kind::classic_cg) == 0);
    for (const char* method : {"prcg", "gropp", "cgcg", "cbcg", "pcg-overlap"}) {
      std::vector<Recovery> first;
      for (auto& at : settings) {
        Solved s = solve(A.view(), b, asked(method, at, 1e-17));
        NOTE(method, " on ", at.engine, ", ranks = ", at.ranks, ", contrast ", contrast, ": ", s.report.reason);
        CHECK(s.report.status == Status::stagnated);
        CHECK(s.report.iterations <= 400 + 3 * classic.report.iterations);
        CHECK(s.report.true_residual <= 5 * classic.report.true_residual);
        CHECK(count(s.report, Recovery::Kind::residual_replaced) + count(s.report, Recovery::Kind::smaller_s) > 0);
        CHECK(count(s.report, Recovery::Kind::classic_cg) == (method == std::string("pcg-overlap") ? 0 : 1));
        CHECK((s.report.reason.find("cg went on where") == std::string::npos) == (method == std::string("pcg-overlap")));
        check_told(s.report);
        if (first.empty()) first = s.report.recoveries;
        CHECK(same(s.report.recoveries, first));
      }
    }
  }
}

TEST("of a scaled system a recurrence that levels out is noticed, too") {
  CsrMatrix A = poisson(12, 11, 13, 7, 1e4);
  auto b = bumps(A.n);
  for (const char* method : {"prcg", "gropp"}) {
    std::vector<Recovery> first;
    for (auto& at : settings) {
      Options o = asked(method, at, 1e-17);
      o.precond = "sqrt-jacobi";
      Solved s = solve(A.view(), b, o);
      NOTE(method, " on ", at.engine, ", ranks = ", at.ranks, ": ", s.report.reason);
      CHECK(s.report.status == Status::stagnated);
      CHECK(s.report.iterations <= 1500);
      CHECK(count(s.report, Recovery::Kind::classic_cg) == 1);
      check_told(s.report);
      if (first.empty()) first = s.report.recoveries;
      CHECK(same(s.report.recoveries, first));
    }
  }
}

TEST("cbcg takes fewer steps at once before cg goes on, and tells each") {
  CsrMatrix A = poisson(14, 14, 14, 7, 1e3);
  Options o = asked("cbcg", settings[0], 1e-17);
  o.s = 12;
  Solved s = solve(A.view(), bumps(A.n), o);
  NOTE(s.report.reason);
  CHECK(count(s.report, Recovery::Kind::smaller_s) == 2);  // 6 and 3
  REQUIRE(!s.report.recoveries.empty());
  CHECK(count(s.report, Recovery::Kind::classic_cg) == 1);
  check_told(s.report);
}

TEST("a residual that hardly falls for long, but is that of x, is no reason to begin again") {
  constexpr int n = 1500;  // a chain, pulled at one end: after k iterations ||r|| is about 1 / k, and after n it is 0
  matrices::Rows rows(n);
  for (int i = 0; i < n; i++) {
    rows[std::size_t(i)][i] = 2;
    if (i > 0) rows[std::size_t(i)][i - 1] = -1;
    if (i < n - 1) rows[std::size_t(i)][i + 1] = -1;
  }
  CsrMatrix A = matrices::csr(rows);
  std::vector<double> b(n);
  b[0] = 1;
  for (const char* method : {"prcg", "gropp"}) {
    Options o = asked(method, settings[1], 1e-8);
    o.precond = "none";
    Solved s = solve(A.view(), b, o);
    NOTE(method, ": ", s.report.reason);
    CHECK(s.report.status == Status::converged);
    CHECK(s.report.recoveries.empty());
    REQUIRE(s.report.iterations > n - 100);
    CHECK(s.report.iterations <= n + 1);
    CHECK(s.report.history[899] > 0.5 * s.report.history[599]);  // both are looked at
  }
}

TEST("of a singular system what rounding leaves in the nullspace ends a solve as stagnated, not in underflow") {
  CsrMatrix A = neumann(poisson(9, 10, 8, 7, 1e3));
  auto b = bumps(A.n);
  for (const char* method : {"cg", "prcg", "gropp", "cgcg", "cbcg", "pcg1", "pcg2", "pcg-overlap"})
    for (const char* precond : {"jacobi", "chebyshev"}) {
      if (precond == std::string("chebyshev") && !sordino::method(method).any_preconditioner) continue;
      Options o = asked(method, settings[1], 1e-17);
      o.precond = precond;
      o.nullspace = "constant";
      Solved s = solve(A.view(), b, o);
      NOTE(method, " with ", precond, ": ", s.report.reason);
      CHECK(s.report.status == Status::stagnated);
      CHECK(s.report.true_residual < 1e-11);
      CHECK(s.report.iterations < 4000);
      check_told(s.report);
    }
}

TEST(
    "pipelined BiCGStab that is asked for more than can be had is told so: it is replaced, then bicgstab goes on, then "
    "nothing") {
  for (double contrast : {1.0, 1e6}) {
    CsrMatrix A = poisson(12, 11, 13, 7, contrast);
    auto b = bumps(A.n);
    const Solved classic = solve(A.view(), b, asked("bicgstab", settings[0], 1e-30));
    CHECK(classic.report.status == Status::stagnated);
    for (const char* method : {"pipebicgstab", "gatherbicgstab"}) {
      Solved first;
      for (auto& at : settings) {
        Solved s = solve(A.view(), b, asked(method, at, 1e-30));
        NOTE(method, " on ", at.engine, ", ranks = ", at.ranks, ", contrast ", contrast, ": ", s.report.reason);
        CHECK(s.report.status == Status::stagnated);
        CHECK(s.report.iterations <= 1500 + classic.report.iterations);
        CHECK(s.report.true_residual <= 5 * classic.report.true_residual);
        CHECK(count(s.report, Recovery::Kind::residual_replaced) > 0);
        CHECK(count(s.report, Recovery::Kind::classic_bicgstab) == 1);
        CHECK(s.report.reason.find(std::string("; bicgstab went on where ") + method) != std::string::npos);
        check_told(s.report);
        if (first.x.empty()) first = s;
        CHECK(same(s.report.recoveries, first.report.recoveries));
        CHECK(same_bits(s.x, first.x));
      }
    }
  }
}

TEST("where pipelined BiCGStab breaks down, bicgstab goes on at once") {
  CsrMatrix A = poisson(200, 1, 1, 7, 1);
  for (const char* method : {"pipebicgstab", "gatherbicgstab"})
    for (auto& at : settings) {
      Options o = asked(method, at, 1e-30);
      o.precond = "none";
      Solved s = solve(A.view(), bumps(A.n), o);
      NOTE(method, " on ", at.engine, ", ranks = ", at.ranks, ": ", s.report.reason);
      CHECK(s.report.status == Status::stagnated);
      CHECK(s.report.iterations < 200);
      REQUIRE(!s.report.recoveries.empty());
      CHECK(s.report.recoveries[0].kind == Recovery::Kind::classic_bicgstab);
      CHECK(s.report.recoveries[0].why == "it broke down");
    }
}

TEST("an x that was verified between two stretches is not given up for a promised one") {
  CsrMatrix A = neumann(poisson(9, 10, 8, 7, 1e3));
  std::vector<double> b;
  for (i64 i = 0; i < A.n; i++) b.push_back(std::sin(1.4 * double(i * i % 97)) + 0.1);
  Options o = asked("prcg", settings[0], 1e-17);
  o.maxiter = 3000;
  o.nullspace = "constant";
  std::vector<double> of_x{1};  // after each iteration, in the range
  System system{.A = A.view()};
  system.watch = {1, true, [&](int, double, const double* x) {
                    auto r = b;
                    double sum = 0, squares = 0;
                    for (i64 i = 0; i < A.n; i++) {
                      for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) r[std::size_t(i)] -= A.values[k] * x[A.indices[k]];
                      sum += r[std::size_t(i)];
                    }
                    for (double v : r) squares += (v - sum / double(A.n)) * (v - sum / double(A.n));
                    of_x.push_back(std::sqrt(squares));
                  }};
  Solver solver(system, o);
  const Report report = solve(solver, b).report;
  Plateau plateau(1);
  double least = HUGE_VAL;
  const int until = report.recoveries.empty() ? report.iterations : report.recoveries[0].iteration;
  for (int done = 0; done + plateau.next() <= until;) {
    std::vector<double> rr;  // its test stands first: of the iteration before
    for (int end = done + plateau.next(); done < end; done++)
      rr.push_back(done == 0 ? 1 : std::pow(report.history[std::size_t(done) - 1], 2));
    if (plateau.seen(int(rr.size()), rr)) least = std::min(least, of_x[std::size_t(done)]);
  }
  REQUIRE(least < 1e-11);
  CHECK(report.residual_norm <= 1.5 * least);  // both are of the size of rounding
}

TEST("where a recurrence is found parted from x the history has its residual of that iteration") {
  CsrMatrix A = poisson(12, 11, 13, 7, 1e3);
  const Solved s = solve(A.view(), bumps(A.n), asked("prcg", settings[0], 1e-30));
  int parted = 0;
  for (const Recovery& step : s.report.recoveries) {
    if (step.kind != Recovery::Kind::classic_cg || step.why.find("no longer fell") == std::string::npos) continue;
    NOTE("after ", step.iteration, " iterations");
    const double* last = &s.report.history[std::size_t(step.iteration) - 1];
    CHECK(last[0] != last[-1]);
    parted++;
  }
  CHECK(parted == 1);
  CHECK(int(s.report.history.size()) == s.report.iterations);
}
