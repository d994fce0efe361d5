#include "sordino/hmatrix/block_jacobi.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {
namespace {

/// Gauss-Jordan with rows exchanged for the largest pivot: `a` [n][n] becomes its inverse. False: it is singular.
template <class V>
bool invert(std::vector<V>& a, i32 n) {
  auto row = [&](i32 i) { return a.begin() + i64(i) * n; };
  std::vector<i32> exchanged(std::size_t(n), 0);
  for (i32 k = 0; k < n; k++) {
    i32 best = k;
    for (i32 i = k + 1; i < n; i++)
      if (magnitude(row(i)[k]) > magnitude(row(best)[k])) best = i;
    const V pivot = row(best)[k];
    if (!(magnitude(pivot) > 0)) return false;
    exchanged[std::size_t(k)] = best;
    std::swap_ranges(row(k), row(k) + n, row(best));
    row(k)[k] = V{1};
    for (i32 j = 0; j < n; j++) row(k)[j] = quotient(row(k)[j], pivot);
    for (i32 i = 0; i < n; i++) {
      if (i == k) continue;
      const V factor = row(i)[k];
      row(i)[k] = V{};
      for (i32 j = 0; j < n; j++) row(i)[j] = row(i)[j] - factor * row(k)[j];
    }
  }
  for (i32 k = n; k-- > 0;)
    for (i32 i = 0; i < n; i++) std::swap(row(i)[k], row(i)[exchanged[std::size_t(k)]]);
  return std::all_of(a.begin(), a.end(), [](V x) { return std::isfinite(squared(x)); });
}

}  // namespace

template <class V>
CsrMatrix inverse_of_diagonal_leaves(const HMatrixOf<V>& matrix) {
  CsrMatrix inverse;
  inverse.n = matrix.size();
  inverse.words = words_of<V>;
  inverse.indptr.push_back(0);
  for (const LeafOf<V>& l : matrix.leaves()) {  // by first row: those on the diagonal follow one another
    const RowRange rows = l.block.rows, columns = l.block.columns;
    if (rows.begin != columns.begin || rows.end != columns.end) continue;
    const i32 n = rows.size();
    std::vector<V> block(l.u, l.u + i64(n) * n);
    if (!invert(block, n))
      bad_argument("precond block-jacobi inverts blocks of the diagonal, and the one of " + std::to_string(n) +
                   " triangles at place " + std::to_string(rows.begin) + " is singular: use jacobi or none");
    inverse.values.insert(inverse.values.end(), words(block.data()), words(block.data() + block.size()));
    for (i32 i = 0; i < n; i++) {
      for (i32 j = rows.begin; j < rows.end; j++) inverse.indices.push_back(j);
      inverse.indptr.push_back(i64(inverse.indices.size()));
    }
  }
  return inverse;
}

template CsrMatrix inverse_of_diagonal_leaves(const HMatrixOf<double>&);
template CsrMatrix inverse_of_diagonal_leaves(const HMatrixOf<Number>&);

}  // namespace sordino::hmatrix
