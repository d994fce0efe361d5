// Which entries of a block are compared with its crosses, to see what these have missed: one rule, for threads of the host and
// for teams on GPUs.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino::hmatrix {

inline constexpr i64 few_entries = 1024;      // that are all compared, whatever the crosses have cost
inline constexpr double share_of_seen = 0.5;  // of the entries that crosses are made of: so many are all compared, too
inline constexpr i32 least_draws = 128;       // of more

/// Puts a number among `count` that increase.
SORDINO_HD inline void insert(i32* sorted, i32 count, i32 value) {
  for (; count > 0 && sorted[count - 1] > value; count--) sorted[count] = sorted[count - 1];
  sorted[count] = value;
}

/// The rows and the columns that crosses go through, [terms] each, which increase. There a sum has no error but rounding.
struct Pivots {
  const i32 *rows, *columns;
  i32 terms;
};

/// The numbers 0 ... n - 1 in orders that keys alone choose: multiples by odd numbers and shifts permute the numbers below a
/// power of two, and what is n or more goes round once more.
class Permutation {
 public:
  SORDINO_HD explicit Permutation(i32 n) : n_(u32(n)) {
    for (; mask_ + 1 < n_; shift_++) mask_ = 2 * mask_ + 1;
    shift_ /= 2;
  }
  /// Number k.
  SORDINO_HD i32 at(i32 k, u64 key) const {
    u64 z = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;  // splitmix64's steps
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    const u32 factor = u32(z >> 32) | 1, step = u32(z);
    u32 place = u32(k);
    do {
      for (int pass = 0; pass < 2; pass++) {
        place = (place * factor + step) & mask_;
        place ^= place >> shift_;
      }
    } while (place >= n_);
    return i32(place);
  }

 private:
  u32 n_, mask_ = 0, shift_ = 1;
};

/// What the entries of a try depend on.
SORDINO_HD inline u64 draws_of(u64 seed, int attempt) { return seed + u64(attempt) * 0x9e3779b97f4a7c15u; }

/// All entries that no cross goes through, where they are few, or few beside those that crosses have cost; else some, drawn at
/// random, of which each such row and each such column has one or more. O(terms) operations an entry.
class Comparison {
 public:
  struct Place {
    i32 row, column;
  };
  /// draws: what the entries that are drawn depend on.
  SORDINO_HD Comparison(i32 height, i32 width, const Pivots& pivots, u64 draws)
      : pivots_(pivots), rows_(height - pivots.terms), columns_(width - pivots.terms), draws_(draws), across_(shorter()) {
    const i64 all = i64(rows_) * columns_, cheap = i64(share_of_seen * pivots.terms * (double(height) + width));
    const i32 side = longer();
    const i64 drawn = side > 0 ? i64((least_draws - 1) / side + 1) * side : 0;
    whole_ = all <= few_entries || all <= cheap || all <= drawn;
    count_ = whole_ ? all : drawn;
    scale_ = whole_ ? 1 : double(all) / double(drawn);
  }

  SORDINO_HD bool is_whole() const { return whole_; }
  /// How many are compared.
  SORDINO_HD i64 count() const { return count_; }
  /// So many, from each multiple of it on, lie in one row; of all entries in the same columns each time.
  SORDINO_HD i32 in_a_row() const { return whole_ ? columns_ : 1; }
  /// What a sum over them is to be multiplied with: its mean is then the sum over all.
  SORDINO_HD double scale() const { return scale_; }
  /// Number k of them. Those that are drawn go along the longer side, and through the other one in a new order each time.
  SORDINO_HD Place at(i64 k) const {
    if (whole_) return place(i32(k / columns_), i32(k % columns_));
    const i32 number = i32(k), side = shorter(), far = number % longer();
    const i32 across = across_.at(number % side, draws_ + u64(number / side));
    return rows_ >= columns_ ? place(far, across) : place(across, far);
  }

 private:
  SORDINO_HD i32 longer() const { return rows_ > columns_ ? rows_ : columns_; }
  SORDINO_HD i32 shorter() const { return rows_ > columns_ ? columns_ : rows_; }
  SORDINO_HD Place place(i32 row, i32 column) const {
    i32 above = 0, before = 0;
    for (i32 t = 0; t < pivots_.terms; t++) {
      above += pivots_.rows[t] - t <= row;
      before += pivots_.columns[t] - t <= column;
    }
    return {row + above, column + before};
  }

  Pivots pivots_;
  i32 rows_, columns_;  // that no cross goes through
  u64 draws_;
  Permutation across_;  // the shorter side
  i64 count_;
  double scale_;
  bool whole_;
};

}  // namespace sordino::hmatrix
