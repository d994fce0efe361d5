#include "sordino/linalg/grid_matrix.hpp"

#include <algorithm>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

Extents strides_of(const Extents& cells) { return {1, cells[0], cells[0] * cells[1]}; }

/// Where the cell of a row is.
Extents place_of(const Extents& cells, i64 row) {
  return {row % cells[0], row / cells[0] % cells[1], row / (cells[0] * cells[1])};
}

/// Entries of all rows before the cell.
i64 entries_before(const Extents& cells, i64 row) {
  const Extents stride = strides_of(cells);
  i64 count = row;  // diagonals
  for (std::size_t d = 0; d < 3; d++) {
    // Of rows before this one, those that are first and those that are last in a direction lack a neighbour.
    const i64 lines = row / (stride[d] * cells[d]), rest = row - lines * stride[d] * cells[d];
    const i64 first = lines * stride[d] + std::min(rest, stride[d]);
    const i64 last = lines * stride[d] + std::max<i64>(0, rest - stride[d] * (cells[d] - 1));
    count += 2 * row - first - last;
  }
  return count;
}

}  // namespace

i64 GridMatrix::entries(i64 first, i64 rows) const {
  return entries_before(cells, first + rows) - entries_before(cells, first);
}

LargeCsr rows_of(const GridMatrix& A) {
  const i64 n = A.n();
  const Extents stride = strides_of(A.cells);
  LargeCsr to{n, LargeArray<i64>(std::size_t(n) + 1)};
  const std::size_t all = std::size_t(entries_before(A.cells, n));
  to.indices = LargeArray<i32>(all);
  to.values = LargeArray<double>(all);
  for_parts(0, n, [&](i64 begin, i64 end) {
    i64 k = entries_before(A.cells, begin);
    const auto add = [&](i64 column, double value) {
      to.indices[std::size_t(k)] = i32(column), to.values[std::size_t(k++)] = value;
    };
    for (i64 row = begin; row < end; row++) {
      const Extents at = place_of(A.cells, row);
      to.indptr[std::size_t(row)] = k;
      for (std::size_t d = 3; d-- > 0;)
        if (at[d] > 0) add(row - stride[d], A.ahead[d][row - stride[d]]);
      add(row, A.diagonal[row]);
      for (std::size_t d = 0; d < 3; d++)
        if (at[d] + 1 < A.cells[d]) add(row + stride[d], A.ahead[d][row]);
    }
  });
  to.indptr[std::size_t(n)] = i64(all);
  return to;
}

std::vector<i64> offsets_of(const Extents& cells) {
  const Extents stride = strides_of(cells);
  std::vector<i64> offsets;
  for (std::size_t d = 3; d-- > 0;)
    if (cells[d] > 1) offsets.push_back(-stride[d]);
  offsets.push_back(0);
  for (std::size_t d = 0; d < 3; d++)
    if (cells[d] > 1) offsets.push_back(stride[d]);
  return offsets;
}

}  // namespace sordino
