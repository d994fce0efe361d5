// Whether a matrix is symmetric, in whichever sense: each entry above the diagonal and its mirror below are looked at once.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>

#include "sordino/base/parallel.hpp"
#include "sordino/linalg/csr.hpp"

namespace sordino {

/// Finds mirrors of one row's entries after the other's: rows that are alike have them at the same places of the rows of their
/// columns.
class MirrorFinder {
 public:
  explicit MirrorFinder(const CsrView& A) : A_(A), last_(A.indptr[A.rows()] - 1) {}
  /// The place of entry (row, column) in the arrays, -1 if there is none, where it is the `nth` that is asked for of a column.
  i64 find(i64 row, i32 column, std::size_t nth) {
    u32& guess = guesses_[nth % guesses_.size()];
    const i64 begin = A_.begin(row), end = A_.begin(row + 1);
    read_ahead(begin + guess, end - begin);
    if (begin + guess < end && A_.indices[begin + guess] == column) return begin + guess;
    const i32* at = std::lower_bound(A_.indices + begin, A_.indices + end, column);
    if (at == A_.indices + end || *at != column) return -1;
    guess = u32(at - A_.indices - begin);
    return at - A_.indices;
  }

 private:
  /// Rows of a stencil go through a dozen others at once, of each a few bytes: more than a CPU follows by itself.
  void read_ahead(i64 place, i64 row_entries) const {
    const i64 then = std::min(place + rows_ahead * row_entries, last_);
    __builtin_prefetch(A_.indices + then);
    __builtin_prefetch(A_.values + then);
  }
  static constexpr i64 rows_ahead = 8;

  const CsrView& A_;
  i64 last_;  // entry that is held
  std::array<u32, 32> guesses_{};
};

/// Whether entries (i, j) and (j, i), i != j, of the rows that are held are stored together or not at all, and fit(a_ij, a_ji)
/// for all of them. A real matrix whose columns increase. Cost: one pass over the arrays, on several threads.
template <class Fit>
bool has_mirrors(const CsrView& A, const Fit& fit) {
  std::atomic<i64> without{0};  // entries below the diagonal that nobody has come to
  const bool fits = all_parts(A.first_row, A.end_row(), [&](i64 first, i64 last) {
    MirrorFinder mirrors(A);
    i64 lower = 0, upper = 0;
    for (i64 row = first; row < last; row++) {
      std::size_t nth = 0;
      for (i64 k = A.begin(row); k < A.begin(row + 1); k++) {
        const i32 column = A.indices[k];
        if (column == row || column < A.first_row || column >= A.end_row()) continue;
        if (column < row) {
          lower++;
          continue;
        }
        const i64 mirror = mirrors.find(column, i32(row), nth++);
        if (mirror < 0 || !fit(A.values[k], A.values[mirror])) return false;
        upper++;
      }
    }
    without += lower - upper;
    return true;
  });
  return fits && without == 0;
}

}  // namespace sordino
