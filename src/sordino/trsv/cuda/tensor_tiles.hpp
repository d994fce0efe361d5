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

/// Of a strip, rows are multiplied in pairs: a lane reads two rows of a column at once, of which one belongs to a tile of eight
/// even rows and the other one to a tile of eight odd ones. So pairs of rows g / 2 + 4 (g % 2) and four columns lie in different
/// banks. A rest of up to eight rows is a tile by itself. Sixteen rows each, and a rest:
template <int Pairs, bool Single>
struct Tiles {
  static constexpr int pairs = Pairs, count = 2 * Pairs + Single;
  static constexpr bool single = Single;
  /// The g-th of a tile's rows, counted from the first one.
  static SORDINO_HD int row(int tile, int g) {
    return tile < 2 * Pairs ? 16 * (tile / 2) + 2 * (g / 2 + 4 * (g % 2)) + tile % 2 : 16 * Pairs + g;
  }
};

/// take(the tiles that so many rows are), of `most` rows, 16 or 32.
template <int most, class Take>
SORDINO_HD inline void with_tiles(int rows, const Take& take) {
  if (most > 24 && rows > 24)
    take(Tiles<most / 16, false>{});
  else if (most > 16 && rows > 16)
    take(Tiles < 1, most % 32 == 0 > {});
  else if (rows > 8)
    take(Tiles<1, false>{});
  else
    take(Tiles<0, true>{});
}

}  // namespace sordino::trsv
