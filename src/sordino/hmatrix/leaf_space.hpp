// Memory that one leaf is computed in by a team, all of it taken before.
#pragma once
#include "sordino/hmatrix/compression.hpp"
#include "sordino/hmatrix/team.hpp"

namespace sordino::hmatrix {

inline constexpr i32 most_terms = 128;  // of a leaf that a team computes

/// The parts of a leaf's workspace.
template <class V>
struct LeafSpace {
  i32 height, width, terms;                       // the most terms that there is room for
  V *u, *v;                                       // [terms][height] and [terms][width]
  V *column, *row;                                // residuals: [height] and [width]
  V *column_seen, *row_seen;                      // those of reference, likewise
  V *r_u, *r_v, *core;                            // [terms][terms], columns one after the other
  double *squares, *turned;                       // [terms]
  i32* order;                                     // [terms]
  i32 *pivot_rows, *pivot_columns;                // [terms], which increase
  unsigned char *row_is_pivot, *column_is_pivot;  // [height] and [width]

  /// Takes its parts from so many values on.
  SORDINO_HD LeafSpace(V* from, i32 height_, i32 width_, i32 terms_) : height(height_), width(width_), terms(terms_) {
    auto take = [&from](i64 count) {
      V* taken = from;
      from += count;
      return taken;
    };
    const i64 small = i64(terms) * terms;
    u = take(i64(terms) * height), v = take(i64(terms) * width);
    column = take(height), row = take(width), column_seen = take(height), row_seen = take(width);
    r_u = take(small), r_v = take(small), core = take(small);
    squares = words(from);
    turned = squares + terms;
    order = reinterpret_cast<i32*>(turned + terms);
    pivot_rows = order + terms, pivot_columns = pivot_rows + terms;
    row_is_pivot = reinterpret_cast<unsigned char*>(pivot_columns + terms);
    column_is_pivot = row_is_pivot + height;
  }
  /// Values of a workspace.
  static i64 values(i64 height, i64 width, i64 terms) {
    const i64 bytes = (2 * 8 + 3 * 4) * terms + height + width;
    return (terms + 2) * (height + width) + 3 * terms * terms + (bytes + i64(sizeof(V)) - 1) / i64(sizeof(V));
  }

  SORDINO_HD V* u_of(i32 k) const { return u + i64(k) * height; }
  SORDINO_HD V* v_of(i32 k) const { return v + i64(k) * width; }
  /// Entry (i, j) of the sum's first `rank` terms.
  SORDINO_HD V entry(i32 i, i32 j, i32 rank) const {
    V sum{};
    for (i32 k = 0; k < rank; k++) sum = sum + u_of(k)[i] * v_of(k)[j];
    return sum;
  }
};

/// ||a||, of n values.
template <class Team, class V>
SORDINO_HD double norm(const Team& team, const V* a, i32 n) {
  return sqrt(team.total(n, [&](i32 k) { return squared(a[k]); }));
}

/// a^H b
template <class Team, class V>
SORDINO_HD V product(const Team& team, const V* a, const V* b, i32 n) {
  return team.total(n, [&](i32 k) { return conjugate(a[k]) * b[k]; });
}

}  // namespace sordino::hmatrix
