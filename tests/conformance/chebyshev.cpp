// Precond chebyshev with every method that takes more than a diagonal: what it solves, and what an iteration then costs.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

Options with_chebyshev(const std::string& method, const std::string& engine, int ranks, int degree) {
  Options o = options(method, engine, ranks);
  o.precond = "chebyshev";
  o.degree = degree;
  return o;
}

}  // namespace

TEST("chebyshev: every method that takes any preconditioner solves, with the same bits on all ranks and engines") {
  NOTE(fresh::said());
  fresh::Random random(412);
  CsrMatrix A = poisson(9, 8, 14, 7, 1000);
  auto b = random.normals(A.n);
  for (auto& m : methods()) {
    if (!m.any_preconditioner) {
      CHECK_THROWS(solve(A.view(), b, with_chebyshev(m.name, "host", 1, 3)), Error, "takes no preconditioner but a diagonal");
      continue;
    }
    if (m.name == "richardson") continue;  // too slow at this contrast: richardson.cpp
    Options plain = options(m.name, "host", 1);
    plain.precond = "jacobi";
    const int jacobi = solve(A.view(), b, plain).report.iterations;
    for (int degree : {1, 3, 6}) {
      Solved first = solve(A.view(), b, with_chebyshev(m.name, "host", 1, degree));
      NOTE(m.name, ", degree ", degree);
      REQUIRE(first.report.status == Status::converged);
      CHECK(matrices::exact_residual(A.view(), b, first.x) <= plain.rtol * matrices::norm(b) * (1 + 1e-10));
      const int least = first.report.iterations - (m.name == "cbcg" ? *plain.s - 1 : 0);  // it counts whole rounds
      CHECK(least * (degree + 1) <= 3 * jacobi + 10);                                     // products
      CHECK(least * 6 < jacobi * 5);
      for (const char* engine : {"host", "model"})
        for (int ranks : {2, 3, 7}) {
          NOTE(engine, ", ", ranks, " ranks");
          CHECK(solve(A.view(), b, with_chebyshev(m.name, engine, ranks, degree)).x == first.x);
        }
    }
  }
}

TEST("chebyshev: an iteration of cg has degree + 1 products and halos, and two sums, whatever the degree") {
  CsrMatrix A = poisson(6, 6, 40, 7, 50);
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (const char* engine : {"host", "model"})
    for (int ranks : {1, 3})
      for (int degree : {1, 2, 5}) {
        auto ledger = [&](int iterations) {
          Options o = with_chebyshev("cg", engine, ranks, degree);
          o.rtol = 1e-300;
          o.maxiter = iterations;
          o.check_every = 1000000;
          return solve(A.view(), b, o).report.ledger;
        };
        Ledger spent = difference(ledger(16), ledger(6));  // by then x is better than at first
        NOTE(engine, ", ", ranks, " ranks, degree ", degree);
        CHECK(spent.reductions == 10 * 2);
        CHECK(spent.messages == 10 * (ranks > 1 ? degree + 1 : 0));
        CHECK(spent.commands == 10 * (1 + 2 + 2 + 2 * degree));  // a product; r and p; first and sum; products and steps
      }
}

TEST("chebyshev: a matrix that is not symmetric is refused, whoever is to solve") {
  CsrMatrix A = poisson(6, 5, 4, 7, 1);
  A.values[1] *= 0.5;
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (const char* method : {"auto", "bicgstab", "cg"})
    CHECK_THROWS(solve(A.view(), b, with_chebyshev(method, "host", 2, 3)), Error, "this one is not symmetric: use jacobi");
}

TEST("chebyshev: new values, functions and bad degrees") {
  NOTE(fresh::said());
  fresh::Random random(413);
  CsrMatrix A = poisson(8, 7, 6, 7, 10), B = poisson(8, 7, 6, 7, 500);
  auto b = random.normals(A.n);
  Options o = with_chebyshev("cg", "host", 2, 3);
  Solver solver(A.view(), o);
  solver.update_values(B.values.data());
  CHECK(solve(solver, b).x == solve(B.view(), b, o).x);
  for (double& v : B.values) v = -v;
  CHECK_THROWS(solver.update_values(B.values.data()), Error, "the diagonal of row 0 is not positive");
  o.degree = 0;
  CHECK_THROWS(solve(A.view(), b, o), Error, "degree must be from 1 to 64, not 0");
}
