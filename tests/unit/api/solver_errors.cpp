// Broken contracts throw at once, with what was wrong and where, and leave everything as it was.
#include <cmath>

#include "check.hpp"
#include "conformance/problems.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

CsrMatrix small() { return matrices::csr({{{0, 4.0}, {1, -1.0}}, {{0, -1.0}, {1, 4.0}, {2, -1.0}}, {{1, -1.0}, {2, 4.0}}}); }

std::string refusal(const CsrMatrix& A, const Options& o) {
  try {
    Solver(A.view(), o);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST("a solver is not made of bad matrices or options") {
  CsrMatrix A = small();
  CHECK(refusal(A, options("cg", "host", 2)) == "accepted");
  A.values[3] = NAN;
  CHECK(refusal(A, options("cg", "host", 2)).starts_with("the matrix holds a NaN or Inf at row 1"));
  CHECK(refusal(small(), options("magic", "host", 2)).starts_with("there is no solver 'magic'"));
  CHECK(refusal(small(), options("cg", "abacus", 2)).starts_with("there is no engine 'abacus'"));
  CsrMatrix zero = small();
  zero.values[3] = 0;
  Options o = options("cg", "host", 2);
  o.precond = "jacobi";
  CHECK(refusal(zero, o).find("row 1 is zero") != std::string::npos);
}

TEST("more ranks than rows are refused at once, however many they are") {
  for (const char* engine : {"host", "model"})
    for (int ranks : {4, 100, 10000000})
      CHECK(refusal(small(), options("cg", engine, ranks)) == "more ranks (" + std::to_string(ranks) + ") than rows (3)");
}

TEST("ranks that nobody asked for are no more than rows") {
  CHECK(Solver(small().view(), options("cg", "model", 0)).ranks() == 3);
  CsrMatrix one = matrices::csr({{{0, 4.0}}});
  for (const char* engine : {"auto", "host", "model"}) {
    NOTE(engine);
    Solver solver(one.view(), options("cg", engine, 0));
    CHECK(solver.ranks() == 1);
    double b = 8, x = 0;
    CHECK(solver.solve(&b, &x).status == Status::converged);
    CHECK(x == 2);
  }
}

TEST("what is no list of devices is refused, whatever the engine") {
  for (const char* devices : {"zero", "0-", "3-1", "0,,1", "0-99999", "-1", "0;1"}) {
    NOTE(devices);
    Options o = options("cg", "host", 1);
    o.devices = devices;
    CHECK(refusal(small(), o) == "devices '" + std::string(devices) + "' is not a list such as 0-3 or 0,2");
  }
  CHECK(parse_devices("0-2,5") == std::vector<int>{0, 1, 2, 5});
}

TEST("NaN and Inf in b and x0 are refused, and the solver goes on") {
  CsrMatrix A = small();
  for (const char* engine : {"host", "model"}) {
    Solver solver(A.view(), options("cg", engine, 2));
    std::vector<double> b{1, 2, 3}, x(3, 7), bad = b;
    for (double v : {double(NAN), double(INFINITY)}) {
      bad[1] = v;
      CHECK_THROWS(solver.solve(bad.data(), x.data()), Error, "the right-hand side holds a NaN or Inf at row 1");
      CHECK_THROWS(solver.solve(b.data(), x.data(), bad.data()), Error, "x0 holds a NaN or Inf at row 1");
    }
    CHECK(x == std::vector<double>(3, 7));  // untouched
    CHECK(solver.solve(b.data(), x.data()).status == Status::converged);
  }
}

TEST("new values that cannot be meant are refused, and the old ones stay") {
  CsrMatrix A = small();
  Options o = options("cg", "host", 2);
  o.precond = "jacobi";
  Solver solver(A.view(), o);
  std::vector<double> b{1, 2, 3}, x(3), y(3), bad = A.values;
  solver.solve(b.data(), x.data());
  bad[3] = NAN;
  CHECK_THROWS(solver.update_values(bad.data()), Error, "the matrix holds a NaN or Inf at row 1, column 1");
  bad[3] = 0;
  CHECK_THROWS(solver.update_values(bad.data()), Error, "row 1 is zero");
  CHECK(solver.solve(b.data(), y.data()).status == Status::converged);
  CHECK(same_bits(x, y));
}

TEST("options that are spoiled between solves are refused, and can be mended") {
  CsrMatrix A = small();
  Solver solver(A.view(), options("cg", "host", 1));
  std::vector<double> b{1, 2, 3}, x(3);
  solver.options().rtol = -1;
  CHECK_THROWS(solver.solve(b.data(), x.data()), Error, "rtol must be");
  solver.options().rtol = 1e-8;
  CHECK(solver.solve(b.data(), x.data()).status == Status::converged);
}

TEST("an engine that is not here says what to do") {
  bool have = false;
  for (auto& name : available_engines()) have |= name == "cuda";
  if (have) SKIP("this machine has the cuda engine");
  CHECK(refusal(small(), options("cg", "cuda", 1)).find("cuda") != std::string::npos);
}

TEST("a machine that cannot be meant is refused") {
  CsrMatrix A = small();
  Machine m;
  m.link_bandwidth = 0;
  CHECK_THROWS(Solver(A.view(), options("cg", "model", 2), m), Error, "machine: link_bandwidth is 0 B/s, and must be positive");
}

TEST("a solver says what it is") {
  CsrMatrix A = small();
  Solver solver(A.view(), options("prcg", "model", 3));
  CHECK(solver.method() == "prcg");
  CHECK(solver.preconditioner() == "jacobi");
  CHECK(solver.engine() == "model");
  CHECK(solver.transport() == "model");
  CHECK(solver.ranks() == 3);
  CHECK(solver.first_rank() == 0);
  CHECK(solver.memory().size() == 3);
  CHECK(solver.setup_seconds() > 0);
}

TEST("a trace holds the spans of each rank, and only if it was asked for") {
  CsrMatrix A = small();
  Options o = options("cg", "host", 2);
  CHECK(solve(A.view(), {1, 2, 3}, o).report.trace.empty());
  o.trace = true;
  auto r = solve(A.view(), {1, 2, 3}, o).report;
  REQUIRE(!r.trace.empty());
  bool of[2] = {false, false};
  for (auto& s : r.trace) {
    REQUIRE(s.rank >= 0);
    REQUIRE(s.rank < 2);
    of[s.rank] = true;
    CHECK(s.end > s.start);
    CHECK(!s.name.empty());
  }
  CHECK(of[0]);
  CHECK(of[1]);
  CHECK(!r.ledger.kernels.empty());
}
