#include "sordino/hmatrix/block_jacobi.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {
namespace {

/// Gauss-Jordan with rows exchanged for the largest pivot: `a` [n][n] becomes its inverse. False: it is singular.
bool invert(std::vector<double>& a, i32 n) {
  auto row = [&](i32 i) { return a.begin() + i64(i) * n; };
  std::vector<i32> exchanged(std::size_t(n), 0);
  for (i32 k = 0; k < n; k++) {
    i32 best = k;
    for (i32 i = k + 1; i < n; i++)
      if (std::abs(row(i)[k]) > std::abs(row(best)[k])) best = i;
    const double pivot = row(best)[k];
    if (!(std::abs(pivot) > 0)) return false;
    exchanged[std::size_t(k)] = best;
    std::swap_ranges(row(k), row(k) + n, row(best));
    row(k)[k] = 1;
    for (i32 j = 0; j < n; j++) row(k)[j] /= pivot;
    for (i32 i = 0; i < n; i++) {
      if (i == k) continue;
      const double factor = row(i)[k];
      row(i)[k] = 0;
      for (i32 j = 0; j < n; j++) row(i)[j] -= factor * row(k)[j];
    }
  }
  for (i32 k = n; k-- > 0;)
    for (i32 i = 0; i < n; i++) std::swap(row(i)[k], row(i)[exchanged[std::size_t(k)]]);
  return std::all_of(a.begin(), a.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace

CsrMatrix inverse_of_diagonal_leaves(const HMatrix& matrix) {
  CsrMatrix inverse;
  inverse.n = matrix.size();
  inverse.indptr.push_back(0);
  for (const Leaf& l : matrix.leaves()) {  // by first row: those on the diagonal follow one another
    const RowRange rows = l.block.rows, columns = l.block.columns;
    if (rows.begin != columns.begin || rows.end != columns.end) continue;
    const i32 n = rows.size();
    std::vector<double> block(l.u, l.u + i64(n) * n);
    if (!invert(block, n))
      bad_argument("precond block-jacobi inverts blocks of the diagonal, and the one of " + std::to_string(n) +
                   " triangles at place " + std::to_string(rows.begin) + " is singular: use jacobi or none");
    inverse.values.insert(inverse.values.end(), block.begin(), block.end());
    for (i32 i = 0; i < n; i++) {
      for (i32 j = rows.begin; j < rows.end; j++) inverse.indices.push_back(j);
      inverse.indptr.push_back(i64(inverse.indices.size()));
    }
  }
  return inverse;
}

}  // namespace sordino::hmatrix
