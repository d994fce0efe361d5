// A rank's view of R^n: its rows, and the fixed tiles and blocks over which sums are taken.
//
// A sum is taken over the rows of a tile, the tiles of a block, and all blocks, in the order of sum_order.hpp. Blocks and tiles
// do not depend on the number of ranks, and cuts between ranks fall on blocks: so 1, 2, ..., 840 ranks get the same bits.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

struct Space {
  int id = -1;
  i64 n_global = 0;
  i64 first_row = 0;  // global number of local row 0
  i32 rows = 0;
  i32 n_blocks = 1;              // of the whole space
  i32 first_block = 0;           // mine begin here
  std::vector<i32> block_tiles;  // [my blocks + 1] first tile of each of my blocks
  std::vector<i32> tile_rows;    // [my tiles + 1] first local row of each of my tiles
  int numbers = -1;              // the space of the rows whose words lie here: complex numbers, or several columns; -1: its own
  bool replicated = false;       // every rank holds and computes all rows: sums are local, nothing is reduced

  i32 tiles() const { return i32(tile_rows.size()) - 1; }
  i32 my_blocks() const { return i32(block_tiles.size()) - 1; }
};

/// Fills blocks and tiles of a space whose local blocks begin at `block_rows` [my blocks + 1] (local rows).
void set_tiles(Space& space, const std::vector<i32>& block_rows, i32 rows_per_tile = 256);

/// `rows` rows for each of `ranks` ranks, one block a rank: sums depend on how many ranks there are.
Space equal_parts(i32 rows, int rank, int ranks, i32 rows_per_tile = 256);

}  // namespace sordino
