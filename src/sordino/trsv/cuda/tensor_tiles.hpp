// Which numbers a lane of a warp has where tensor cores multiply doubles, and which rows of a strip they take at once. Tests on
// the host go by the same functions.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino::trsv {

/// Tensor cores add A [16][4] times B [4][8] to D [16][8] (PTX, mma.m16n8k4 of f64). A lane has A[group][member] and the number
/// eight rows below, B[member][group], and of D's rows `group` and eight below the columns 2 member and the next one.
struct ProductLane {
  int group, member;
  SORDINO_HD explicit ProductLane(int lane) : group(lane / 4), member(lane % 4) {}
};

/// Sixteen rows of a strip are two tiles of eight: a lane reads two rows of a column at once, of which one belongs to a tile of
/// even rows and the other one to a tile of odd ones. So pairs of rows g / 2 + 4 (g % 2) and four columns lie in different
/// banks.
struct TwoTiles {
  static constexpr int count = 2;
  /// The g-th of a tile's rows, counted from the first one.
  static SORDINO_HD int row(int tile, int g) { return 2 * (g / 2 + 4 * (g % 2)) + tile; }
};
/// Up to eight rows.
struct OneTile {
  static constexpr int count = 1;
  static SORDINO_HD int row(int, int g) { return g; }
};
inline constexpr int most_rows_of_tiles = 16;

/// take(the tiles that so many rows are).
template <class Take>
SORDINO_HD inline void with_tiles(int rows, const Take& take) {
  if (rows > 8)
    take(TwoTiles{});
  else
    take(OneTile{});
}

}  // namespace sordino::trsv
