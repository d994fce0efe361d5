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
i64 entries_before(const GridMatrix& A, i64 row) {
  const Extents &cells = A.cells, stride = strides_of(cells);
  i64 count = row;  // diagonals
  for (std::size_t d = 0; d < 3; d++) {
    if (A.periodic[d]) {
      count += 2 * row;
      continue;
    }
    // Of rows before this one, those that are first and those that are last in a direction lack a neighbour.
    const i64 lines = row / (stride[d] * cells[d]), rest = row - lines * stride[d] * cells[d];
    const i64 first = lines * stride[d] + std::min(rest, stride[d]);
    const i64 last = lines * stride[d] + std::max<i64>(0, rest - stride[d] * (cells[d] - 1));
    count += 2 * row - first - last;
  }
  return count;
}

/// begin_row(row), and then add(column, value) of each of its entries in their order, of rows [begin, end).
template <class BeginRow, class Add>
void for_entries(const GridMatrix& A, i64 begin, i64 end, const BeginRow& begin_row, const Add& add) {
  const Extents stride = strides_of(A.cells);
  for (i64 row = begin; row < end; row++) {
    const Extents at = place_of(A.cells, row);
    begin_row(row);
    const auto wraps = [&](std::size_t d, i64 end) { return A.periodic[d] && at[d] == end; };
    const auto span = [&](std::size_t d) { return stride[d] * (A.cells[d] - 1); };  // across the box
    for (std::size_t d = 3; d-- > 0;) {
      if (wraps(d, A.cells[d] - 1)) add(row - span(d), A.ahead[d][row]);
      if (at[d] > 0) add(row - stride[d], A.ahead[d][row - stride[d]]);
    }
    add(row, A.diagonal[row]);
    for (std::size_t d = 0; d < 3; d++) {
      if (at[d] + 1 < A.cells[d]) add(row + stride[d], A.ahead[d][row]);
      if (wraps(d, 0)) add(row + span(d), A.ahead[d][row + span(d)]);
    }
  }
}

}  // namespace

i64 GridMatrix::entries(i64 first, i64 rows) const {
  return entries_before(*this, first + rows) - entries_before(*this, first);
}

LargeCsr rows_of(const GridMatrix& A) {
  const i64 n = A.n();
  LargeCsr to{n, LargeArray<i64>(std::size_t(n) + 1)};
  const std::size_t all = std::size_t(entries_before(A, n));
  to.indices = LargeArray<i32>(all);
  to.values = LargeArray<double>(all);
  for_parts(0, n, [&](i64 begin, i64 end) {
    i64 k = entries_before(A, begin);
    for_entries(
        A, begin, end, [&](i64 row) { to.indptr[std::size_t(row)] = k; },
        [&](i64 column, double value) { to.indices[std::size_t(k)] = i32(column), to.values[std::size_t(k++)] = value; });
  });
  to.indptr[std::size_t(n)] = i64(all);
  return to;
}

void values_of(const GridMatrix& A, double* to) {
  for_parts(0, A.n(), [&](i64 begin, i64 end) {
    double* next = to + entries_before(A, begin);
    for_entries(A, begin, end, [](i64) {}, [&](i64, double value) { *next++ = value; });
  });
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
