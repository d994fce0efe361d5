#include "sordino/linalg/diagonals.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

/// Entry (row, column) of a matrix whose columns increase, or 0.
double entry(const CsrView& A, i64 row, i64 column) {
  const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
  const i32* found = std::lower_bound(begin, end, i32(column));
  return found != end && *found == column ? A.values[found - A.indices] : 0;
}

void require_few(std::size_t diagonals, i64 row) {
  if (i64(diagonals) > most_diagonals)
    bad_argument("storage by diagonals is for matrices with at most " + std::to_string(most_diagonals) +
                 " of them, and this one has more, the last one found in row " + std::to_string(row) + ": use storage csr");
}

std::vector<i64> offsets_of(const CsrView& A) {
  std::vector<i64> found;
  for (i64 row = 0; row < A.n; row++)
    for (i64 k = A.begin(row); k < A.begin(row + 1); k++) {
      i64 offset = A.indices[k] - row;
      auto place = std::lower_bound(found.begin(), found.end(), offset);
      if (place != found.end() && *place == offset) continue;
      found.insert(place, offset);
      require_few(found.size(), row);
    }
  return found;
}

/// With every diagonal also the one that mirrors it.
std::vector<i64> mirrored(std::vector<i64> offsets) {
  std::size_t own = offsets.size();
  for (std::size_t d = 0; d < own; d++) offsets.push_back(-offsets[d]);
  std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

}  // namespace

void require_symmetric(const CsrView& A, const Diagonals& diagonals) {
  if (!diagonals.symmetric) return;
  for (i64 row = 0; row < A.n; row++)
    for (i64 k = A.begin(row); k < A.begin(row + 1); k++)
      if (entry(A, A.indices[k], row) != A.values[k])
        bad_argument("storage symdia keeps one entry for (i, j) and (j, i), and of row " + std::to_string(row) +
                     " and column " + std::to_string(A.indices[k]) + " they differ: use storage dia");
}

Diagonals diagonals_of(const CsrView& A, const std::string& storage) {
  if (storage == "csr") return {};
  if (A.is_complex()) throw Error(Errc::unsupported, "storage " + storage + " holds real numbers: use storage csr");
  Diagonals found{offsets_of(A), storage == "symdia"};
  require_symmetric(A, found);
  if (found.symmetric) found.offsets = mirrored(found.offsets);
  require_few(found.offsets.size(), A.n - 1);
  return found;
}

DiagonalPlaces::DiagonalPlaces(const Diagonals& diagonals, i64 rows) : at(diagonals.offsets.size()) {
  std::size_t count = at.size();
  for (std::size_t d = 0; d < count; d++) {
    i64 offset = diagonals.offsets[d];
    if (diagonals.symmetric && offset > 0) {
      at[d] = at[count - 1 - d] + std::min(offset, rows);
      continue;
    }
    at[d] = stored;
    stored += rows + (diagonals.symmetric ? std::min(-offset, rows) : 0);
    stored = (stored + 31) / 32 * 32;  // a warp's loads begin where a line does
  }
}

std::vector<i64> columns_outside(const Diagonals& diagonals, i64 n, i64 first, i64 rows) {
  std::vector<i64> columns;
  i64 end = first + rows;
  for (i64 offset : diagonals.offsets) {
    i64 from = std::max<i64>(offset < 0 ? first + offset : std::max(end, first + offset), 0);
    i64 to = std::min(offset < 0 ? std::min(first, end + offset) : end + offset, n);
    for (i64 column = from; column < to; column++) columns.push_back(column);
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

}  // namespace sordino
