#include "sordino/linalg/csr_map.hpp"

#include <algorithm>
#include <cmath>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/linalg/csr_layout.hpp"

namespace sordino {
namespace {

CsrSlice slice_of(const MapView& A, const Partition& rows, int rank) {
  const i64 first = rows.first_row(rank), end = rows.first_row(rank + 1);
  return {first, end - first, A.begin(first), A.begin(end) - A.begin(first)};
}

/// As what Layout::pointers() and others that look at rows alone take.
CsrView rows_of(const MapView& A) {
  return {.n = A.rows, .indptr = A.indptr, .indices = A.indices, .values = A.values, .first_row = A.first_row};
}

std::vector<i64> foreign_columns(const MapView& A, const CsrSlice& slice, const Partition& columns, int rank) {
  std::vector<i64> found =
      CsrOperator::columns_outside_of(A.indices + slice.first_entry, slice.entries, columns.first_row(rank) - A.first_column,
                                      columns.first_row(rank + 1) - A.first_column);
  for (i64& column : found) column += A.first_column;
  return found;
}

}  // namespace

void validate(const MapView& A, const std::string& what) {
  if (A.rows <= 0 || A.columns <= 0) bad_argument(what + " is empty");
  if (A.indptr[0] != 0) bad_argument(what + ": indptr must begin with 0");
  for (i64 i = 0; i < A.rows; i++)  // before any of them is followed
    if (A.indptr[i + 1] < A.indptr[i]) bad_argument(what + ": indptr decreases at row " + std::to_string(i));
  auto place = [&](i64 i, i64 k) { return std::to_string(A.indices[k]) + " in row " + std::to_string(i); };
  for_parts(0, A.rows, [&](i64 first, i64 last) {
    for (i64 i = first; i < last; i++)
      for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) {
        if (A.indices[k] < 0 || A.indices[k] >= A.columns)
          bad_argument(what + ": column index " + place(i, k) + " is out of range (it has " + std::to_string(A.columns) +
                       " columns)");
        if (k > A.indptr[i] && A.indices[k] <= A.indices[k - 1])
          bad_argument(what + ": columns of row " + std::to_string(i) + " are not in increasing order");
        if (!std::isfinite(A.values[k])) bad_argument(what + " holds a NaN or Inf in column " + place(i, k));
      }
  });
}

MapMatrix transposed(const MapView& A) {
  MapMatrix to{.rows = A.columns, .columns = A.rows};
  to.indptr.assign(std::size_t(A.columns + 1), 0);
  to.indices.resize(std::size_t(A.nnz()));
  to.values.resize(to.indices.size());
  for (i64 k = 0; k < A.nnz(); k++) to.indptr[std::size_t(A.indices[k]) + 1]++;
  for (std::size_t j = 0; j < std::size_t(A.columns); j++) to.indptr[j + 1] += to.indptr[j];
  std::vector<i64> next(to.indptr.begin(), to.indptr.end() - 1);
  for (i64 i = 0; i < A.rows; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) {
      const std::size_t at = std::size_t(next[std::size_t(A.indices[k])]++);
      to.indices[at] = i32(i);
      to.values[at] = A.values[k];
    }
  return to;
}

CsrMap::~CsrMap() = default;

CsrMap::CsrMap(Rank& rank, const MapView& A, const Partition& rows, int row_space, const Partition& columns, int column_space)
    : column_space_(column_space) {
  const CsrSlice slice = slice_of(A, rows, rank.id());
  std::vector<i64> ghosts = foreign_columns(A, slice, columns, rank.id());
  exchange_ = make_halo(rank, columns, rank.space(column_space), ghosts);
  const i64 begin = columns.first_row(rank.id()) - A.first_column, end = columns.first_row(rank.id() + 1) - A.first_column;
  for (i64& column : ghosts) column -= A.first_column;
  split_ = CsrOperator::interior_and_boundary(rank.space(row_space), slice.first_row, 1, [&](i64 row) {
    return std::any_of(A.indices + A.begin(row), A.indices + A.begin(row + 1), [&](i32 c) { return c < begin || c >= end; });
  });
  const i32* viewed = A.indices + slice.first_entry;
  std::vector<i32> renumbered;
  if (rank.size() > 1) renumbered = CsrOperator::renumbered(viewed, slice.entries, begin, end, ghosts);
  const i32 held = i32(end - begin) + exchange_.ghosts;
  layout_ = std::make_unique<CsrOperator::Layout>(rank, CsrOperator::Layout::pointers(rows_of(A), slice), std::move(renumbered),
                                                  viewed, 0, 1, held);
  layout_->set_values(A.values + slice.first_entry);
}

void CsrMap::apply(Rank& rank, Vec x, Vec y, Vec plus) const { layout_->map(rank, x, plus, y, split_); }

i64 CsrMap::bytes() const { return layout_->bytes(); }

i64 CsrMap::bytes_of(const MapView& A, const Partition& rows, int rank, bool device) {
  const CsrSlice slice = slice_of(A, rows, rank);
  if (device) return CsrOperator::Layout::bytes_on_device(CsrOperator::Layout::pointers(rows_of(A), slice), 1);
  return i64(sizeof(i32)) * (slice.rows + 1 + (rows.ranks() > 1 ? slice.entries : 0));
}

i64 CsrMap::ghosts_of(const MapView& A, const Partition& rows, const Partition& columns, int rank) {
  return i64(foreign_columns(A, slice_of(A, rows, rank), columns, rank).size());
}

}  // namespace sordino
