#include "sordino/hmatrix/block_jacobi.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "unit/hmatrix/dense.hpp"

using namespace sordino;
using namespace sordino::hmatrix;

TEST("block Jacobi inverts the diagonal blocks of an H-matrix, which have all its rows") {
  for (i32 leaf : {1, 15, 60}) {
    const HMatrix H(bem::Laplace(surfaces::sphere(5, 7).view()), {.compression = {.eps = 1e-4}, .leaf = leaf});
    const CsrMatrix inverse = inverse_of_diagonal_leaves(H);
    const auto all = dense::of(H);
    const i64 n = H.size();
    NOTE("leaves of ", leaf);
    CHECK(i64(inverse.indptr.size()) == n + 1);
    for (i64 i = 0; i < n; i++) {
      const i64 begin = inverse.indptr[std::size_t(i)], end = inverse.indptr[std::size_t(i) + 1];
      const i64 first = inverse.indices[std::size_t(begin)], last = inverse.indices[std::size_t(end) - 1] + 1;
      CHECK(first <= i);
      CHECK(i < last);
      CHECK(last - first == end - begin);
      CHECK(end - begin <= leaf + 1);
      for (i64 j = first; j < last; j++) {  // row i of the inverse times column j of the block
        double sum = 0;
        for (i64 k = first; k < last; k++) sum += inverse.values[std::size_t(begin + k - first)] * all[std::size_t(k * n + j)];
        CHECK_NEAR(sum, double(i == j), 1e-11);
      }
    }
  }
}

TEST("block Jacobi refuses a singular block with a sentence") {
  const auto sphere = surfaces::sphere(5, 3);
  const bem::Laplace laplace(sphere.view());
  const HMatrix H(laplace, {});
  const HMatrix zero(laplace.points(), laplace.size(), 2, 15, H.outline(),
                     [](double* to, i64 count) { std::fill_n(to, count, 0.0); });
  std::string said;
  try {
    inverse_of_diagonal_leaves(zero);
  } catch (const Error& e) {
    said = e.what();
  }
  NOTE(said);
  CHECK(said.find("at place 0 is singular: use jacobi or none") != std::string::npos);
}
