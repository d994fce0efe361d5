#include "sordino/precond/sqrt_jacobi.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/linalg/partition.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

namespace {

CsrMatrix diagonal_of_second_row(double value) {
  return matrices::csr({{{0, 2.0}, {1, 1.0}}, {{0, 1.0}, {1, value}}, {{2, 1.0}}});
}

std::vector<double> factors_of(const ScaledMatrix& A) { return {A.factors().begin(), A.factors().end()}; }

}  // namespace

TEST("S A S has ones on its diagonal, and equal entries where A has") {
  NOTE(fresh::said());
  fresh::Random random(70);
  CsrMatrix A = matrices::spd(random, 300, 3, 40), B = A;

  for (i64 i = 0; i < A.n; i++)  // B stays as symmetric as A, with another diagonal
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      B.values[std::size_t(k)] = A.values[std::size_t(k)] * (A.indices[std::size_t(k)] == i ? 1.0 + double(i) : 0.25);
  ScaledMatrix scaled(A.view());
  auto check = [&](const CsrMatrix& of) {
    CsrView S = scaled.view();
    CHECK(has_equal_mirrors(S));
    CHECK(S.indptr == A.indptr.data());
    auto rows = matrices::rows(of);
    double least = HUGE_VAL, most = 0;
    for (i32 i = 0; i < S.n; i++) {
      const double s = scaled.factors()[std::size_t(i)];
      least = std::min(least, s), most = std::max(most, s);
      CHECK_NEAR(s * s * rows[std::size_t(i)][i], 1, 1e-15);
      for (i64 k = S.begin(i); k < S.begin(i + 1); k++) {
        i32 j = S.indices[k];
        double root = std::sqrt(rows[std::size_t(i)][i] * rows[std::size_t(j)][j]);
        CHECK_NEAR(S.values[k] * root, rows[std::size_t(i)][j], 1e-15 * std::abs(rows[std::size_t(i)][j]));
        if (i == j) CHECK(S.values[k] == 1);
      }
    }
    CHECK(scaled.least() == least);
    CHECK(scaled.most() == most);
  };
  check(A);
  scaled.update_values(B.view());
  check(B);
}

TEST("a diagonal entry without a root is refused with its row, and the old values stay") {
  CsrMatrix good = diagonal_of_second_row(4), missing = matrices::csr({{{0, 1.0}}, {{1, 1.0}}, {{0, 1.0}}});
  ScaledMatrix scaled(good.view());
  const std::vector<double> before = factors_of(scaled);
  for (double bad : {0.0, -1.0, double(NAN), HUGE_VAL, 1e-320}) {
    CsrMatrix A = diagonal_of_second_row(bad);
    CHECK_THROWS(ScaledMatrix(A.view()), Error, "and that of row 1 is not positive");
    CHECK_THROWS(scaled.update_values(A.view()), Error, "and that of row 1 is not positive");
    CHECK(factors_of(scaled) == before);
  }
  CHECK_THROWS(ScaledMatrix(missing.view()), Error, "and that of row 2 is not positive");
}

TEST("each rank holds its rows of S, and takes new ones") {
  CsrMatrix A = poisson(6, 5, 7, 7, 100), B = A;
  for (double& v : B.values) v *= 9;
  for (int ranks : {1, 2, 3}) {
    ScaledMatrix scaled(A.view());
    std::vector<double> first(std::size_t(A.n)), then = first;
    host::HostEngine engine({.ranks = ranks});
    Partition p = balance(A.view(), ranks);
    auto run = [&](auto job) { engine.run([&](Rank& s) { job(s); }); };
    std::vector<std::unique_ptr<SqrtJacobi>> made(static_cast<std::size_t>(ranks));
    run([&](Rank& s) {
      auto& M = made[std::size_t(s.id())];
      M = std::make_unique<SqrtJacobi>(s, s.add_space(distributed_space(p, s.id())), scaled);
      CHECK(M->diagonal().id == -1);
      s.read(M->scaling()->S, first.data() + p.first_row(s.id()));
    });
    CHECK(first == factors_of(scaled));
    scaled.update_values(B.view());
    run([&](Rank& s) {
      auto& M = *made[std::size_t(s.id())];
      M.update_values(s, scaled);
      CHECK(M.scaling()->most == scaled.most());
      s.read(M.scaling()->S, then.data() + p.first_row(s.id()));
    });
    CHECK(then == factors_of(scaled));
    CHECK(then != first);
  }
}
