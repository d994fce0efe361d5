// What smoothers of algebraic levels are made of: the largest eigenvalue.
#include <cmath>
#include <numbers>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/precond/chebyshev.hpp"
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
