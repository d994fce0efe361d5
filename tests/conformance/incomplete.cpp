// Preconds ic0 and ilu0 with every method that takes more than a diagonal: what they solve, that M is the product of the
// factors, what an iteration then costs, what is refused.
#include <cmath>
#include <limits>
#include <map>

#include "check.hpp"
#include "problems.hpp"
#include "sordino/api/grid_choice.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

Options with(const char* precond, const std::string& method, const std::string& engine, int ranks) {
  Options o = options(method, engine, ranks);
  o.precond = precond;
  return o;
}

double& entry_of(CsrMatrix& A, i64 row, i64 column) {
  for (i64 k = A.indptr[std::size_t(row)]; k < A.indptr[std::size_t(row) + 1]; k++)
    if (A.indices[std::size_t(k)] == column) return A.values[std::size_t(k)];
  throw Error(Errc::bad_argument, "no such entry");
}

/// Entries anywhere, with a dominant diagonal: far more diagonals than a grid has.
CsrMatrix scattered(fresh::Random& random, i64 n, bool symmetric) {
  std::vector<std::map<i64, double>> rows(static_cast<std::size_t>(n));
  for (i64 k = 0; k < 3 * n; k++) {
    const i64 i = random.whole(0, n - 1), j = random.whole(0, n - 1);
    const double value = random.normal();
    if (i == j) continue;
    rows[std::size_t(i)][j] = value;
    if (symmetric) rows[std::size_t(j)][i] = value;
  }
  CsrMatrix A;
  A.n = n, A.indptr = {0};
  for (i64 i = 0; i < n; i++) {
    auto& row = rows[std::size_t(i)];
    double sum = 0.5;
    for (auto& [j, value] : row) sum += std::abs(value);
    row[i] = sum;
    for (auto& [j, value] : row) A.indices.push_back(i32(j)), A.values.push_back(value);
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

/// A tridiagonal matrix, which is its own incomplete factorization's product.
CsrMatrix tridiagonal(i64 n, double below, double above) {
  CsrMatrix A;
  A.n = n, A.indptr = {0};
  for (i64 i = 0; i < n; i++) {
    auto put = [&](i64 j, double value) { A.indices.push_back(i32(j)), A.values.push_back(value); };
    if (i > 0) put(i - 1, below);
    put(i, 3 + 0.25 * double(i % 5));
    if (i + 1 < n) put(i + 1, above);
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

}  // namespace

TEST("ic0, ilu0: every method that takes any preconditioner solves random systems, with the same bits on host and model") {
  NOTE(fresh::said());
  fresh::Random random(711);
  for (i64 n : {7, 61, 500})
    for (bool symmetric : {true, false}) {
      CsrMatrix A = scattered(random, n, symmetric);
      auto b = random.normals(A.n);
      for (auto& m : methods()) {
        if (m.complex == Factors::of_numbers || (m.needs_spd && !symmetric)) continue;
        const char* precond = symmetric ? "ic0" : "ilu0";
        if (!m.any_preconditioner) {
          CHECK_THROWS(solve(A.view(), b, with(precond, m.name, "host", 1)), Error, "takes no preconditioner but a diagonal");
          continue;
        }
        for (int ranks : {1, 2, 3, 7}) {
          NOTE(m.name, ", ", n, " rows, ", precond, ", ", ranks, " ranks");
          Solved host = solve(A.view(), b, with(precond, m.name, "host", ranks));
          REQUIRE(host.report.status == Status::converged);
          CHECK(matrices::exact_residual(A.view(), b, host.x) <= 1e-8 * matrices::norm(b) * (1 + 1e-10));
          CHECK(solve(A.view(), b, with(precond, m.name, "model", ranks)).x == host.x);
        }
      }
    }
}

TEST("ic0, ilu0: a matrix without fill is solved at once on one rank, and rank by rank on several") {
  NOTE(fresh::said());
  fresh::Random random(712);
  for (i64 n : {1, 2, 257}) {
    CsrMatrix S = tridiagonal(n, -1, -1), U = tridiagonal(n, -1, 0.5);
    auto b = random.normals(n);
    for (const char* engine : {"host", "model"}) {
      NOTE(n, " rows, ", engine);
      CHECK(solve(S.view(), b, with("ic0", "cg", engine, 1)).report.iterations <= 2);
      CHECK(solve(U.view(), b, with("ilu0", "bicgstab", engine, 1)).report.iterations <= 2);
      CHECK(solve(U.view(), b, with("ilu0", "gmres", engine, 1)).report.iterations <= 2);
    }
  }
  // Two ranks' blocks differ from S by one coupling, which is of rank two: cg ends after three steps, in exact arithmetic.
  CsrMatrix S = tridiagonal(400, -1, -1);
  const int of_two = solve(S.view(), random.normals(400), with("ic0", "cg", "host", 2)).report.iterations;
  CHECK(of_two > 1);
  CHECK(of_two <= 5);
}

TEST("ic0, ilu0: grids take fewer iterations than with Jacobi") {
  NOTE(fresh::said());
  fresh::Random random(713);
  for (int stencil : {7, 27}) {
    CsrMatrix A = poisson(9, 8, 14, stencil, 1000);
    auto b = random.normals(A.n);
    for (auto [precond, method] : {std::pair{"ic0", "cg"}, {"ilu0", "bicgstab"}})
      for (int ranks : {1, 3}) {
        NOTE(stencil, " points, ", method, ", ", ranks, " ranks");
        const int jacobi = solve(A.view(), b, with("jacobi", method, "host", ranks)).report.iterations;
        CHECK(solve(A.view(), b, with(precond, method, "host", ranks)).report.iterations < jacobi);
      }
  }
}

TEST("ic0, ilu0: an application is one command that sends nothing, and its bytes and operations are booked") {
  CsrMatrix A = poisson(9, 8, 14, 7, 50);
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (const char* engine : {"host", "model"})
    for (int ranks : {1, 2}) {
      NOTE(engine, ", ", ranks, " ranks");
      auto ledger = [&](int iterations) {
        Options o = with("ic0", "cg", engine, ranks);
        o.rtol = 1e-300;
        o.maxiter = iterations;
        o.check_every = 1000000;
        o.storage = "csr";
        o.time_commands = true;
        return solve(A.view(), b, o).report.ledger;
      };
      Ledger spent = difference(ledger(16), ledger(6));
      CHECK(spent.reductions == 10 * 2);
      CHECK(spent.messages == 10 * (ranks > 1));
      CHECK(spent.commands == 10 * (1 + 2 + 2));  // a product; r and p; factors and the sum
      if (ranks > 1) continue;
      const double n = double(A.n), below = (double(A.indices.size()) - n) / 2;
      const KernelLedger& factor = spent.kernels.at("Incomplete factor");
      CHECK(factor.bytes == 10 * (24 * below + 64 * n));
      CHECK(factor.flops == 10 * (4 * below + 2 * n));
    }
}

TEST("ic0, ilu0: new values are factorized; those whose pivot is refused leave the old ones") {
  NOTE(fresh::said());
  fresh::Random random(714);
  for (auto [precond, method] : {std::pair{"ic0", "cg"}, {"ilu0", "bicgstab"}}) {
    NOTE(precond);
    CsrMatrix A = poisson(9, 8, 14, 7, 10), B = poisson(9, 8, 14, 7, 500), C = A;
    auto b = random.normals(A.n);
    Options o = with(precond, method, "host", 2);
    Solver solver(A.view(), o);
    solver.update_values(B.values.data());
    CHECK(solve(solver, b).x == solve(B.view(), b, o).x);
    for (i64 j : {700, 701, 702})  // its neighbours' too, so that nothing is eliminated into the pivot
      for (i64 k = C.indptr[std::size_t(j)]; k < C.indptr[std::size_t(j) + 1]; k++)
        C.values[std::size_t(k)] = j == C.indices[std::size_t(k)];
    for (i64 i = 0; i < C.n; i++)
      for (i64 k = C.indptr[std::size_t(i)]; k < C.indptr[std::size_t(i) + 1]; k++)
        if (const i32 j = C.indices[std::size_t(k)]; j >= 700 && j <= 702 && i != j) C.values[std::size_t(k)] = 0;
    entry_of(C, 701, 701) = 0;
    CHECK_THROWS(solver.update_values(C.values.data()), Error, "0: the pivot of row 701 is ");
    CHECK(solve(solver, b).x == solve(B.view(), b, o).x);
    for (int ranks : {1, 2, 3})
      CHECK_THROWS(Solver(C.view(), with(precond, method, "model", ranks)), Error, "use precond jacobi");
  }
}

TEST("ic0, ilu0: what does not fit is refused with what to do") {
  fresh::Random random(715);
  CsrMatrix S = tridiagonal(50, -1, -1), U = tridiagonal(50, -1, 0.5);
  CHECK_THROWS(Solver(S.view(), with("ilu0", "cg", "host", 1)), Error,
               "precond ilu0 is not symmetric, which solver cg needs: use precond ic0");
  CHECK_THROWS(Solver(U.view(), with("ic0", "gmres", "host", 1)), Error, "precond ic0 needs a symmetric matrix");
  Options steady = with("ic0", "cg", "host", 2);
  steady.deterministic = "on";
  CHECK_THROWS(Solver(S.view(), steady), Error, "precond ic0 depends on it");
  Choice choice;
  choice.preconditioner = "ilu0";
  CHECK_THROWS(settle_grid(choice, System(), Options(), 1, true, {}), Error, "precond ilu0 has no kernel for GPUs");
  settle_grid(choice, System(), Options(), 1, false, {});
  CHECK(choice.tiling.cells == nullptr);
  CsrMatrix negative = S;
  entry_of(negative, 30, 30) = -2;
  CHECK_THROWS(Solver(negative.view(), with("ic0", "cg", "host", 3)), Error, "ic0: the pivot of row 30 is not positive");
  CHECK_THROWS(Solver(negative.view(), with("ic0", "auto", "host", 3)), Error, "ic0: the pivot of row 30 is not positive");
}
