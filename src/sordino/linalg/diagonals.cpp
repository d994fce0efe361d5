#include "sordino/linalg/diagonals.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/linalg/alike_rows.hpp"
#include "sordino/linalg/mirrors.hpp"
#include "sordino/linalg/row_kinds.hpp"

namespace sordino {
namespace {

/// Entry (row, column) of a matrix whose columns increase, or 0.
double entry(const CsrView& A, i64 row, i64 column) {
  const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
  const i32* found = std::lower_bound(begin, end, i32(column));
  return found != end && *found == column ? A.values[found - A.indices] : 0;
}

void require_few(std::size_t diagonals) {
  if (diagonals == 0 || i64(diagonals) > most_diagonals)
    bad_argument("storage by diagonals is for matrices with at most " + std::to_string(most_diagonals) +
                 " of them, and this one has more: use storage csr");
}

/// Diagonals of some rows, as they are found.
class Finder {
 public:
  explicit Finder(const i64* cells) : cells_(cells) {}
  bool too_many() const { return i64(found_.offsets.size()) > most_diagonals; }
  const FoundDiagonals& found() const { return found_; }

  void look(const CsrView& A, i64 first, i64 last) {
    for (i64 row = first; row < last; row++) {
      if (!cells_ && is_alike(A, row, all_)) {
        alike_++;
        continue;
      }
      count_alike();
      std::size_t d = 0;  // rows that are nearly alike have an entry on one diagonal after the other
      for (i64 k = A.begin(row); k < A.begin(row + 1); k++, d++) {
        i64 offset = offset_of(cells_, row, A.indices[k]);
        if (d == found_.offsets.size() || found_.offsets[d] != offset) d = place(offset);
        if (too_many()) return;
        found_.entries[d]++;
      }
      if (!cells_ && all_.size() != found_.offsets.size()) all_ = in_32_bits(found_.offsets);
    }
    count_alike();
  }
  void add(const FoundDiagonals& others) {
    for (std::size_t d = 0; d < others.offsets.size(); d++) found_.entries[place(others.offsets[d])] += others.entries[d];
  }

 private:
  /// Rows that have an entry on each diagonal found so far.
  void count_alike() {
    for (i64& entries : found_.entries) entries += alike_;
    alike_ = 0;
  }
  std::size_t place(i64 offset) {
    auto at = std::lower_bound(found_.offsets.begin(), found_.offsets.end(), offset);
    std::size_t d = std::size_t(at - found_.offsets.begin());
    if (at != found_.offsets.end() && *at == offset) return d;
    found_.offsets.insert(at, offset);
    found_.entries.insert(found_.entries.begin() + std::ptrdiff_t(d), 0);
    return d;
  }

  const i64* cells_;
  FoundDiagonals found_;
  std::vector<i32> all_;  // of those found, where rows are in their order
  i64 alike_ = 0;
};

/// The first stored entry of these rows that differs from its mirror, which may be a zero that is not stored; of none: -1.
i64 entry_without_mirror(const CsrView& A, i64 first, i64 last, i64& row) {
  for (row = first; row < last; row++)
    for (i64 k = A.begin(row); k < A.begin(row + 1); k++)
      if (entry(A, A.indices[k], row) != A.values[k]) return k;
  return -1;
}

void require_equal_mirrors(const CsrView& A) {
  if (has_mirrors(A, std::equal_to<>())) return;
  for_parts(0, A.n, [&](i64 first, i64 last) {
    i64 row = 0, k = entry_without_mirror(A, first, last, row);
    if (k >= 0)
      bad_argument("storage symdia keeps one entry for (i, j) and (j, i), and of row " + std::to_string(row) + " and column " +
                   std::to_string(A.indices[k]) + " they differ: use storage dia");
  });
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

std::size_t Diagonals::of(i64 row, i64 column) const {
  return std::size_t(std::lower_bound(offsets.begin(), offsets.end(), offset_of(cells, row, column)) - offsets.begin());
}

FoundDiagonals find_diagonals(const CsrView& A, const i64* cells) {
  Finder all(cells);
  std::mutex mutex;
  for_parts(0, A.n, [&](i64 first, i64 last) {
    Finder part(cells);
    part.look(A, first, last);
    std::lock_guard lock(mutex);
    all.add(part.found());
  });
  return all.too_many() ? FoundDiagonals{} : all.found();
}

bool has_equal_mirrors(const CsrView& A) {
  if (has_mirrors(A, std::equal_to<>())) return true;
  return all_parts(0, A.n, [&](i64 first, i64 last) {
    i64 row = 0;
    return entry_without_mirror(A, first, last, row) < 0;
  });
}

void require_storable(const CsrView& A, const Diagonals& diagonals) {
  if (diagonals.symmetric) require_equal_mirrors(A);
  if (diagonals.constant && find_row_kinds(A, diagonals, 0, A.n) > most_row_kinds)
    bad_argument("storage constant is for matrices with at most " + std::to_string(most_row_kinds) +
                 " different rows, and this one has more: use storage dia");
}

Diagonals diagonals_of(const CsrView& A, const std::string& storage, const i64* cells) {
  if (storage == "csr") return {};
  if (A.is_complex()) throw Error(Errc::unsupported, "storage " + storage + " holds real numbers: use storage csr");
  Diagonals found{.offsets = find_diagonals(A, cells).offsets,
                  .symmetric = storage == "symdia",
                  .constant = storage == "constant",
                  .cells = cells};
  require_few(found.offsets.size());
  require_storable(A, found);
  if (found.symmetric) found.offsets = mirrored(found.offsets);
  require_few(found.offsets.size());
  return found;
}

DiagonalPlaces::DiagonalPlaces(const Diagonals& diagonals, i64 rows) : at(diagonals.offsets.size()) {
  std::size_t count = at.size();
  if (diagonals.constant) {
    std::iota(at.begin(), at.end(), 0);
    stored = i64(count) * most_row_kinds;
    return;
  }
  for (std::size_t d = 0; d < count; d++) {
    i64 offset = diagonals.offsets[d];
    if (diagonals.unit && offset == 0) {
      at[d] = nowhere;
      continue;
    }
    if (diagonals.symmetric && offset > 0) {
      at[d] = at[count - 1 - d] + std::min(offset, rows);
      continue;
    }
    at[d] = stored;
    stored += rows + (diagonals.symmetric ? std::min(-offset, rows) : 0);
    stored = (stored + 31) / 32 * 32;  // a warp's loads begin where a line does
  }
}

void require_few_places(i64 stored) {
  if (stored > i64(~u32(0))) throw Error(Errc::unsupported, "a rank's diagonals hold more than 2^32 values: use more ranks");
}

}  // namespace sordino
