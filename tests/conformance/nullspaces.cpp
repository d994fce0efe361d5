// Singular systems whose nullspace is known: every method, engine and number of ranks.
#include <cmath>

#include "check.hpp"
#include "problems.hpp"

using namespace sordino;
using namespace problems;

namespace {

/// P D P, dense, of a positive diagonal D and the projector P: symmetric, with the basis, made orthonormal, as its nullspace.
CsrMatrix with_null_vectors(fresh::Random& random, Basis& basis) {
  i64 n = basis.rows;
  orthonormalise(basis, "test");
  auto project = [&](std::vector<double> v) {
    for (int k = 0; k < basis.count; k++) {
      double c = 0;
      for (i64 i = 0; i < n; i++) c += basis.column(k)[i] * v[i];
      for (i64 i = 0; i < n; i++) v[i] -= c * basis.column(k)[i];
    }
    return v;
  };
  auto d = random.normals(n);
  CsrMatrix B{n, {0}, {}, {}};
  std::vector<std::vector<double>> columns;
  for (i64 j = 0; j < n; j++) {
    std::vector<double> e(std::size_t(n), 0.0);
    e[std::size_t(j)] = 1;
    auto v = project(e);
    for (i64 i = 0; i < n; i++) v[i] *= 1 + d[i] * d[i];
    columns.push_back(project(v));
  }
  for (i64 i = 0; i < n; i++) {
    for (i64 j = 0; j < n; j++) B.indices.push_back(i32(j)), B.values.push_back(columns[std::size_t(j)][std::size_t(i)]);
    B.indptr.push_back(i64(B.values.size()));
  }
  return B;
}

Solved solve(const System& system, const Options& o, const std::vector<double>& b) {
  Solver solver(system, o);
  return problems::solve(solver, b);
}

/// ||b - A x|| without the constant part.
double residual(const CsrMatrix& A, const std::vector<double>& x, const std::vector<double>& b) {
  std::vector<double> r = b;
  double mean = 0, sum = 0;
  for (i64 i = 0; i < A.n; i++) {
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) r[i] -= A.values[k] * x[A.indices[k]];
    mean += r[i] / double(A.n);
  }
  for (double v : r) sum += (v - mean) * (v - mean);
  return std::sqrt(sum);
}

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum / double(v.size());
}

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}

}  // namespace

TEST(
    "a Neumann problem is solved by every method to 1e-10, x without the constant, with the same bits on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(500);
  CsrMatrix A = neumann(poisson(9, 8, 7, 7, 10.0));
  auto b = random.normals(A.n);  // has a constant part
  for (auto& m : methods()) {
    Solved first;
    for (const char* engine : {"host", "model"})
      for (int ranks : {1, 2, 3, 5}) {
        NOTE(m.name, ", ", engine, ", ", ranks, " ranks");
        Options o = options(m.name, engine, ranks);
        o.rtol = 1e-10;
        o.nullspace = "constant";
        o.omega = 0.9;  // of richardson: the largest eigenvalue is 2 with 1
        o.maxiter = 20000;
        Solved s = solve({.A = A.view()}, o, b);
        CHECK(s.report.status == Status::converged);
        CHECK(std::abs(mean(s.x)) < 1e-13 * norm(s.x));
        CHECK(residual(A, s.x, b) <= 2e-10 * norm(b));
        CHECK(std::abs(s.report.outside_norm - std::abs(mean(b)) * std::sqrt(double(A.n))) < 1e-12 * norm(b));
        CHECK(s.report.reason.find("outside the range") != std::string::npos);
        if (first.x.empty()) first = s;
        CHECK(same_bits(s.x, first.x));
      }
  }
}

TEST("a basis of any number of vectors is taken, orthonormal or not, and so is a function with a preconditioner") {
  NOTE(fresh::said());
  fresh::Random random(501);
  for (int k : {1, 2, 3, 4, 5, 6, 9}) {
    NOTE(k, " vectors");
    Basis orthonormal{k, 60, 0, random.normals(60 * k)}, given = orthonormal;
    CsrMatrix A = with_null_vectors(random, orthonormal);
    auto b = random.normals(A.n);
    auto times = [&](const double* x, double* y) {
      for (i64 i = 0; i < A.n; i++) {
        y[i] = 0;
        for (i64 j = 0; j < A.n; j++) y[i] += A.values[i * A.n + j] * x[j];
      }
    };
    auto shift = [&](const double* x, double* y) {  // drives x along a null vector
      for (i64 i = 0; i < A.n; i++) y[i] = x[i] + 1e3 * orthonormal.column(0)[i] * x[0];
    };
    for (int ranks : {1, 3}) {
      Options o = options("cg", "host", ranks);
      o.precond = "none";
      Solved s = solve({.A = A.view(), .nullspace = {.right = given}}, o, b);
      CHECK(s.report.status == Status::converged);
      o.precond = "auto";
      Solved f = solve({.product = times, .A = {.n = A.n}, .preconditioner = shift, .nullspace = {.right = given}}, o, b);
      CHECK(f.report.status == Status::converged);
      for (int j = 0; j < k; j++)
        for (auto* x : {&s.x, &f.x}) {
          double along = 0;
          for (i64 i = 0; i < A.n; i++) along += orthonormal.column(j)[i] * (*x)[i];
          CHECK(std::abs(along) < 1e-12 * norm(*x));
        }
    }
  }
}

TEST("a nonsymmetric singular matrix has two nullspaces, and says so") {
  NOTE(fresh::said());
  fresh::Random random(502);
  CsrMatrix A = neumann(poisson(7, 6, 5, 7, 1.0));
  std::vector<double> weight(std::size_t(A.n));
  for (i64 i = 0; i < A.n; i++) weight[i] = 1 + 0.5 * std::sin(double(i));  // A = W L: w^-1 is what the transpose maps to zero
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) A.values[k] *= weight[i];
  Basis left{1, A.n, 0, weight};
  for (double& w : left.values) w = 1 / w;
  auto with = [&](const Basis& basis) {
    System system;
    system.A = A.view();
    system.nullspace.left = basis;
    return system;
  };
  auto b = random.normals(A.n);
  for (const char* name : {"bicgstab", "pipebicgstab", "gatherbicgstab"}) {
    Options o = options(name, "host", 3);
    o.nullspace = "constant";
    CHECK_THROWS(solve({.A = A.view()}, o, b), Error, "give left_nullspace, too");
    Solved s = solve(with(left), o, b);
    CHECK(s.report.status == Status::converged);
    CHECK(s.report.outside_norm > 0);
    CHECK(std::abs(mean(s.x)) < 1e-13 * norm(s.x));
  }
  Basis wrong = left;
  wrong.values[3] *= 2;
  Options o = options("bicgstab", "host", 2);
  o.nullspace = "constant";
  CHECK_THROWS(solve(with(wrong), o, b), Error, "left_nullspace: the transpose of A");
}

TEST("what is no nullspace is refused with a sentence, at setup and with new values") {
  CsrMatrix A = poisson(5, 5, 5, 7, 1.0), N = neumann(A);
  Options o = options("cg", "host", 2);
  std::vector<double> b(std::size_t(A.n), 1.0);
  Basis twice{2, A.n, 0, std::vector<double>(std::size_t(2 * A.n), 1.0)}, nothing{1, A.n, 0, std::vector<double>(A.n, 0.0)};
  CHECK_THROWS(solve({.A = N.view(), .nullspace = {.right = twice}}, o, b), Error, "vector 1 (counted from 0) depends");
  CHECK_THROWS(solve({.A = N.view(), .nullspace = {.right = nothing}}, o, b), Error, "vector 0 (counted from 0) is zero");
  o.nullspace = "constant";
  CHECK_THROWS(solve({.A = A.view()}, o, b), Error, "||A n|| / (||A|| ||n||) =");
  CHECK_THROWS(solve({.A = N.view(), .nullspace = {.right = twice}}, o, b), Error, "choose one");
  auto times = [&](const double* x, double* y) {
    for (i64 i = 0; i < A.n; i++) y[i] = x[i];
  };
  CHECK_THROWS(solve({.product = times, .A = {.n = A.n}}, o, b), Error, "to zero: ||A");
  Solver solver(N.view(), o);
  CHECK_THROWS(solver.update_values(A.values.data()), Error, "does not map vector 0");
  Solved zero = solve(solver, b);  // lies in the nullspace: the old values are still in force
  CHECK(zero.report.status == Status::converged);
  CHECK(zero.report.reason.find("no part in the range of A") != std::string::npos);
  CHECK(norm(zero.x) == 0);
}
