// Which neighbour of its row's cell the column of an entry is, in the matrix of a grid.
#pragma once
#include <array>
#include <cstdlib>

#include "sordino/linalg/alike_rows.hpp"
#include "sordino/linalg/extents.hpp"

namespace sordino {

/// Where the cell of a row is. Rows are numbered by 32 bits, whose division is several times as fast as that of 64.
inline Extents place(const Extents& cells, i64 row) {
  const u32 number = u32(row), nx = u32(cells[0]), ny = u32(cells[1]), line = number / nx, z = line / ny;
  return {i64(number - line * nx), i64(line - z * ny), i64(z)};
}
/// To the cell of the next row.
inline void advance(Extents& at, const Extents& cells) {
  if (++at[0] < cells[0]) return;
  at[0] = 0;
  if (++at[1] < cells[1]) return;
  at[1] = 0, at[2]++;
}
inline i64 row_of(const Extents& cells, const Extents& at) { return at[0] + cells[0] * (at[1] + cells[1] * at[2]); }

/// From one place to another in a direction of so many cells, whose ends are a step apart where they are three or more.
inline i64 step_between(i64 from, i64 to, i64 cells) {
  const i64 by = to - from;
  return cells > 2 && std::abs(by) == cells - 1 ? (by > 0 ? -1 : 1) : by;
}
/// Where a step of -1, 0 or 1 leads in such a direction.
inline i64 step_from(i64 from, i64 by, i64 cells) {
  const i64 to = from + by;
  return to < 0 ? cells - 1 : to == cells ? 0 : to;
}

/// Finds neighbours of one row after the other's: those of rows that are alike are found at once, and no number is divided. In
/// directions of three cells and more the first and the last one are neighbours, too, as in a periodic box. For one thread.
class GridNeighbours {
 public:
  static constexpr int count = 27, itself = 13;  // numbered with x fastest
  explicit GridNeighbours(const Extents& cells);

  /// How far a neighbour is in x, y and z.
  static Extents step(int number) { return {number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1}; }
  /// The number of the neighbour in `column` of the cell of `row`, which is at `at`, where it is the row's `nth` entry; -1: it
  /// is none. Behind the last cell of a periodic direction is the first one: a step of 1, not back.
  int find(i64 row, const Extents& at, i64 column, std::size_t nth) {
    if (!is_unique_) return by_place(at, column);
    const i64 offset = column - row;
    int& guess = guesses_[nth % guesses_.size()];
    if (offsets_[std::size_t(guess)] != offset) {
      const int found = by_offset(offset);
      if (found < 0) return by_place(at, column);
      guess = found;
    }
    return is_inside(at, guess) ? guess : by_place(at, column);
  }

  /// Whether a row's entries are of all neighbours in their order, as of cells inside the box with 27 points.
  bool are_all(const CsrView& A, i64 row, const Extents& at) const {
    bool inside = true;
    for (std::size_t d = 0; d < 3; d++) inside &= u64(at[d] - 1) < u64(cells_[d] - 2);
    return inside && is_alike(A, row, all_);
  }

  /// Whether such a row couples its cell across an edge or a corner.
  static bool any_across(const double* values) {
    constexpr u32 faces = 1u << 4 | 1u << 10 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 16 | 1u << 22;  // and the cell itself
    bool does = false;
    for (int n = 0; n < count; n++) does |= values[n] != 0 && (faces >> n & 1u) == 0;
    return does;
  }

 private:
  static constexpr i64 nowhere = i64(1) << 40;  // of a neighbour in a direction of one cell

  bool is_inside(const Extents& at, int number) const {
    const auto& by = steps_[std::size_t(number)];
    bool inside = true;
    for (std::size_t d = 0; d < 3; d++) inside &= u64(at[d] + by[d]) < u64(cells_[d]);
    return inside;
  }
  int by_offset(i64 offset) const;
  int by_place(const Extents& at, i64 column) const;

  Extents cells_;
  bool is_unique_;  // whether numbers tell all neighbours apart
  std::array<Extents, count> steps_;
  std::array<i64, count> offsets_;
  std::array<i32, count> all_{};  // the same, where there is a cell on each side in each direction
  std::array<int, count> guesses_{};
};

}  // namespace sordino
