// What smoothers of algebraic levels and their last level are made of: the largest eigenvalue, and a dense inverse.
#include <cmath>
#include <numbers>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/precond/chebyshev.hpp"
#include "sordino/precond/dense_inverse.hpp"
#include "sordino/precond/spectral_estimate.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

namespace {

/// S A S for a positive diagonal.
CsrMatrix scaled(CsrMatrix A, const std::vector<double>& S) {
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      A.values[std::size_t(k)] *= S[std::size_t(i)] * S[std::size_t(A.indices[std::size_t(k)])];
  return A;
}

}  // namespace

TEST("the largest eigenvalue is found to a tenth, also where rows are scaled so that their sums say nothing") {
  NOTE(fresh::said());
  fresh::Random random(842);
  for (i64 n : {1, 2, 3, 17, 400}) {
    // Of D^-1 A, which no scaling of rows and columns changes: 1 + cos(pi / (n + 1)) for a line of constant coefficients.
    CsrMatrix A = poisson(n, 1, 1, 7, 1);
    for (i64 i = 0; i < n; i++)
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
        A.values[std::size_t(k)] = A.indices[std::size_t(k)] == i ? 2 : -1;
    const double exact = 1 + std::cos(std::numbers::pi / double(n + 1));
    std::vector<double> S;
    for (i64 i = 0; i < n; i++) S.push_back(std::pow(10.0, random.real(-6, 6)));
    for (const CsrMatrix& of : {A, scaled(A, S)}) {
      NOTE(n, " rows");
      const double found = estimated_bound(of.view());
      CHECK(found >= 0.99 * exact);
      CHECK(found <= 1.1 * exact * (1 + 1e-12));
      CHECK(found <= spectral_bound(of.view()));
    }
    if (n > 3) CHECK(spectral_bound(scaled(A, S).view()) > 100);
  }
}

TEST("a dense inverse, and a generalized one of a singular matrix") {
  NOTE(fresh::said());
  fresh::Random random(843);
  for (i64 n : {1, 5, 60}) {
    const CsrMatrix A = matrices::spd(random, n, 3, n), X = inverse_of(A.view());
    for (i64 i = 0; i < n; i++)
      for (i64 j = 0; j < n; j++) {
        double sum = 0;
        for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
          sum += A.values[std::size_t(k)] * X.values[std::size_t(A.indices[std::size_t(k)] * n + j)];
        CHECK_NEAR(sum, double(i == j), 1e-10);
      }
  }
  CsrMatrix ones{
      .n = 3, .indptr = {0, 3, 6, 9}, .indices = {0, 1, 2, 0, 1, 2, 0, 1, 2}, .values = {2, -1, -1, -1, 2, -1, -1, -1, 2}};
  const CsrMatrix X = inverse_of(ones.view());  // A X A = A
  double most = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double sum = -ones.values[std::size_t(3 * i + j)];
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++)
          sum += ones.values[std::size_t(3 * i + k)] * X.values[std::size_t(3 * k + l)] * ones.values[std::size_t(3 * l + j)];
      most = std::max(most, std::abs(sum));
    }
  CHECK(most <= 1e-12);
}
