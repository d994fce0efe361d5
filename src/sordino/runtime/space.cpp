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

Space equal_parts(i32 rows, int rank, int ranks, i32 rows_per_tile) {
  Space s;
  s.n_global = i64(rows) * ranks;
  s.first_row = i64(rows) * rank;
  s.rows = rows;
  s.n_blocks = ranks;
  s.first_block = rank;
  set_tiles(s, {0, rows}, rows_per_tile);
  return s;
}

}  // namespace sordino
