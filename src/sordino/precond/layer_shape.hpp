// Where a rank's rows of a grid, and those of the layers that its neighbours send, lie in a vector.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino {

/// A rank's rows of a level, as cells of its layers.
struct LayerShape {
  i32 cells[3], stride[3];
  // What to add to the row of a cell at a place of 0, to get to that before it in a direction, and to the number of the row
  // less the strides to place 0, to get to that behind the last one: in a rank's own rows, as of a periodic box, or ghosts.
  i32 before[3], behind[3];

  /// The row of the neighbour of row i, which is at that place in direction d, on a side.
  SORDINO_HD i32 neighbour(i32 i, i32 place, int d, bool forth) const {
    if (forth) return place + 1 < cells[d] ? i + stride[d] : i - place * stride[d] + behind[d];
    return place > 0 ? i - stride[d] : i + before[d];
  }
};

}  // namespace sordino
