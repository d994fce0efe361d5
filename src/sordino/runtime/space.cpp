#include "sordino/runtime/space.hpp"

#include <algorithm>

namespace sordino {

void set_tiles(Space& space, const std::vector<i32>& block_rows, i32 rows_per_tile) {
  space.block_tiles = {0};
  space.tile_rows = {0};
  for (std::size_t b = 0; b + 1 < block_rows.size(); b++) {
    for (i32 row = block_rows[b]; row < block_rows[b + 1]; row += rows_per_tile)
      space.tile_rows.push_back(std::min(row + rows_per_tile, block_rows[b + 1]));
    space.block_tiles.push_back(i32(space.tile_rows.size()) - 1);
  }
}

}  // namespace sordino
