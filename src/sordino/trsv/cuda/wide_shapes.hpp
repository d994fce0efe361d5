// How strips come to a thread block in a pass of 16 or 32 columns, and which of them each warp multiplies. Tests on the host go
// by the same functions.
//
// A strip comes in slices of its columns to a ring of places: while one slice is multiplied the next ones are on their way.
// Each warp has sixteen columns of b and a share of a strip's rows; products are sums over columns of b's transpose times the
// strip's, so that rows, which are few, are dealt by eights.
#pragma once
#include "sordino/trsv/blocks.hpp"
#include "sordino/trsv/cuda/tensor_tiles.hpp"

namespace sordino::trsv {

/// Where column r of a wide pass lies in the row of b for a column of the blocks: so that four rows by four columns lie in
/// different banks of shared memory, and pairs stay together.
SORDINO_HD inline int wide_place(int r, i32 column) { return r ^ (4 * (column & 3)); }

inline constexpr int columns_of_warp = 16;  // of b

/// Warps that have the same columns of b and share rows, and rows of a strip that they have at once.
SORDINO_HD constexpr int shares_of(int P) { return 4 * columns_of_warp / P; }
SORDINO_HD constexpr int rows_at_once(int P) { return most_rows_of_tiles * shares_of(P); }

// --- slices ----------------------------------------------------------------------------------------------------------------

/// Places of the ring, values that a slice has at most, and bytes of a place: with the first slice of a strip come the sources
/// of its rows, 16 bytes each, and lie behind it. Two thread blocks with 32 columns of b for 256 of the factor share the shared
/// memory of a multiprocessor.
inline constexpr int places_of_ring = 4, values_of_slice = 1408, bytes_of_place = 12032, bytes_of_source = 16;
static_assert(places_of_ring * bytes_of_place >= most_of_strip * 8 + 62 * bytes_of_source);

/// The slices of a strip, in a pass of P columns. Each but the last ones has whole sixteens of columns, since sums go on with
/// the next slice, in four chains of four columns each. A strip that has more rows than warps have at once stays `whole` in the
/// ring until all have been multiplied: its slices lie as in memory, from the ring's begin on, and are as many as there are
/// places; the last ones may be empty.
struct Slices {
  i32 count, step, columns, lead;
  bool whole;

  SORDINO_HD Slices(const Strip& s, int P) : columns(s.columns), lead(s.lead), whole(s.rows > rows_at_once(P)) {
    const i32 sixteens = (columns + 15) / 16;
    step = whole ? (sixteens + places_of_ring - 1) / places_of_ring * 16 : values_of_slice / lead / 16 * 16;
    count = whole ? places_of_ring : (columns + step - 1) / step;
  }
  SORDINO_HD i32 first(i32 k) const { return k * step < columns ? k * step : columns; }
  SORDINO_HD i32 bytes(i32 k) const { return (first(k + 1) - first(k)) * lead * 8; }
  /// Where slice k lies in the ring, which is the number-th of all, and where the sources of the strip's rows do.
  SORDINO_HD i32 place(i32 k, u32 number) const {
    return whole ? first(k) * lead * 8 : i32(number % places_of_ring) * bytes_of_place;
  }
  SORDINO_HD i32 place_of_sources(u32 number) const { return whole ? columns * lead * 8 : place(0, number) + bytes(0); }
};

/// Slice `slice` of strip `strip` of a task's block, whose values begin so many behind those of the task.
struct SliceOfTask {
  i32 strip = 0, slice = 0;
  i64 before = 0;

  SORDINO_HD SliceOfTask next(const Block& b, int P) const {
    const Strip s = strip_of(b, strip);
    if (slice + 1 < Slices(s, P).count) return {strip, slice + 1, before};
    return {strip + 1, 0, before + s.size()};
  }
};

// --- shares ----------------------------------------------------------------------------------------------------------------

/// Rows first, ..., first + rows - 1 of a strip; none if rows <= 0.
struct ShareOfRows {
  i32 first, rows;
};
/// What `share` has of the rows of strip k from `begin` on: they are dealt by eights. Shares take turns, for the last one may
/// have fewer rows.
SORDINO_HD inline ShareOfRows share_of_rows(const Strip& s, i32 k, i32 begin, int share, int P) {
  const int shares = shares_of(P);
  const i32 left = s.rows - begin, rows = left < rows_at_once(P) ? left : rows_at_once(P), eights = (rows + 7) / 8;
  const i32 most = 8 * ((eights + shares - 1) / shares), first = most * ((share + k) % shares);
  return {begin + first, rows - first < most ? rows - first : most};
}

/// Of the columns of b that begin with `first`, a lane has this one and the next in each row of the operand, as the two rows of
/// A, and the sums of both, d[q] and d[2 + q], for the tile's row row_of_sum(.., q).
SORDINO_HD inline int column_of_lane(int first, int lane) { return first + 2 * ProductLane(lane).group; }
template <class T>
SORDINO_HD inline int row_of_sum(int tile, int lane, int q) {
  return T::row(tile, 2 * ProductLane(lane).member + q);
}
/// Where they lie in an operand [columns of the block][P], counted from the row of a column that is a multiple of four, if the
/// block begins with this column; and where the lane's column of a strip begins, likewise.
SORDINO_HD inline int operand_of_lane(int P, int column_of_b, i32 block_column, int lane) {
  const int member = ProductLane(lane).member;
  return member * P + wide_place(column_of_b, block_column + member);
}
SORDINO_HD inline int values_of_lane(const Strip& s, int lane) { return ProductLane(lane).member * s.lead; }

}  // namespace sordino::trsv
