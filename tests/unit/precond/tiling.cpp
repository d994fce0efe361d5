#include "sordino/precond/tiling.hpp"

#include "check.hpp"
#include "sordino/base/error.hpp"

using namespace sordino;

TEST("tiles are refused of which not every rank has a layer, or whose grid is not said, and grids that are not the matrix'") {
  auto choose = [](const char* tile, int ranks) { return choose_tiling(6 * 5 * 16, "6,5,16", tile, ranks, false); };
  CHECK(choose("6,5,16", 1).tile == (Extents{6, 5, 16}));
  CHECK(choose("6,5,5", 4).tile == (Extents{6, 5, 5}));  // layers of 5, 5, 5 and 1
  CHECK_THROWS(choose("6,5,6", 4), Error,
               "tile 6 x 5 x 6 is larger than 6 x 5 x 5 cells: each of 4 ranks needs a layer of tiles");
  CHECK_THROWS(choose("7,1,1", 1), Error, "tile 7 x 1 x 1 is larger than the grid of 6 x 5 x 16 cells");
  CHECK_THROWS(choose("1,1,1", 17), Error, "17 ranks need a layer of tiles each, and the grid of 6 x 5 x 16 cells has 16");
  CHECK_THROWS(choose_tiling(480, "", "2,2", 2, false), Error,
               "tile 2 x 2 x 1 needs the cells of the grid (option grid): without them the 480 rows are one line");
  CHECK_THROWS(choose_tiling(100, "5,5,5", "auto", 1, false), Error, "does not have as many cells as the matrix rows, 100");
}

TEST("auto takes one tile a rank on the host, and many on a device, with a layer for each rank") {
  CHECK(choose_tiling(480, "6,5,16", "auto", 4, false).one_a_rank());
  CHECK(choose_tiling(480, "6,5,16", "auto", 4, true).tile == (Extents{4, 4, 4}));
  CHECK(choose_tiling(480, "6,5,16", "auto", 8, true).tile == (Extents{4, 4, 2}));
  CHECK(choose_tiling(480, "160,3,1", "auto", 2, true).tile == (Extents{4, 2, 1}));
  CHECK(choose_tiling(480, "480", "auto", 2, true).tile == (Extents{4, 1, 1}));
  CHECK_THROWS(choose_tiling(480, "6,5,16", "auto", 17, true), Error, "17 ranks need a layer of tiles each");
  CHECK_THROWS(choose_tiling(480, "", "auto", 2, true), Error, "needs the cells of the grid (option grid), or a tile");
  CHECK(choose_tiling(480, "", "64", 2, true).tile == (Extents{64, 1, 1}));
}

TEST("on a device auto takes larger tiles where there are cells for all threads, as the scan found them to be faster") {
  auto choose = [](i64 x, i64 y, i64 z, int ranks) {
    const std::string grid = std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
    return choose_tiling(x * y * z, grid, "auto", ranks, true).tile;
  };
  CHECK(choose(64, 64, 64, 1) == (Extents{4, 4, 4}));
  CHECK(choose(128, 64, 256, 1) == (Extents{4, 4, 4}));   // measured: 223 ms, and 267 with 8 x 8 x 4
  CHECK(choose(256, 128, 512, 1) == (Extents{8, 4, 8}));  // measured: 2.89 s, and 3.18 with 4 x 4 x 4
  CHECK(choose(256, 128, 512, 8) == (Extents{4, 4, 4}));  // as many cells a rank as the first ones
  const i64 cell = 0;
  CHECK(choose_tiling({{256, 128, 512}, {1, 1, 1}}, &cell, "auto", true).tile == (Extents{8, 4, 8}));
  CHECK(choose_tiling({{256, 128, 512}, {2, 2, 2}}, &cell, "auto", true).tile == (Extents{4, 4, 4}));
}

TEST("in boxes a tile fits into the smallest one, and auto takes what fits") {
  const Boxes boxes{{13, 6, 16}, {2, 1, 4}};
  const i64 cell = 0;
  CHECK(choose_tiling(boxes, &cell, "auto", false).one_a_rank());
  CHECK(choose_tiling(boxes, &cell, "auto", false).cells == &cell);
  CHECK(choose_tiling(boxes, &cell, "auto", true).tile == (Extents{4, 4, 4}));
  CHECK(choose_tiling({{13, 6, 16}, {2, 2, 8}}, &cell, "auto", true).tile == (Extents{4, 3, 2}));
  CHECK(choose_tiling(boxes, &cell, "6,6,4", true).tile == (Extents{6, 6, 4}));
  CHECK_THROWS(choose_tiling(boxes, &cell, "7,6,4", true), Error,
               "tile 7 x 6 x 4 is larger than the smallest box of a rank, 6 x 6 x 4 cells");
}

TEST("ranks have whole layers of tiles, and the blocks of sums do not depend on how many ranks there are") {
  for (Tiling t : {Tiling{{6, 5, 16}, {2, 2, 3}}, Tiling{{480, 1, 1}, {7, 1, 1}}, Tiling{{4, 120, 1}, {4, 5, 1}},
                   Tiling{{2, 1, 240}, {1, 1, 1}}}) {
    Partition one = partition_in_layers(480, t, 1);
    CHECK(one.block_rows.front() == 0);
    CHECK(one.block_rows.back() == 480);
    for (i32 b = 0; b < one.blocks(); b++) CHECK(one.block_rows[std::size_t(b)] < one.block_rows[std::size_t(b) + 1]);
    for (int ranks : {2, 3, 5}) {
      Partition p = partition_in_layers(480, t, ranks);
      CHECK(p.ranks() == ranks);
      CHECK(p.block_rows == one.block_rows);
      for (int r = 0; r < ranks; r++) {
        CHECK(p.rows(r) > 0);
        CHECK(p.first_row(r) % (t.tile[std::size_t(t.last())] * t.cells_of_layer()) == 0);
      }
    }
  }
  Tiling thin{{3000, 1, 1}, {1, 1, 1}};  // more layers than blocks
  CHECK(partition_in_layers(3000, thin, 3).blocks() == default_blocks);
  CHECK(partition_in_layers(3000, thin, 1000).ranks() == 1000);
  CHECK(partition_in_layers(3000, thin, 1000).rows(999) == 3);
}

TEST("ranks have the tiles of their layers, in blocks that do not depend on how many ranks there are") {
  for (Tiling t : {Tiling{{6, 5, 16}, {2, 2, 3}}, Tiling{{480, 1, 1}, {7, 1, 1}}, Tiling{{4, 120, 1}, {4, 5, 1}},
                   Tiling{{48, 2, 5}, {1, 1, 1}}}) {
    const Partition one = tiles_in_layers(480, t, 1);
    for (int ranks : {1, 2, 3, 5}) {
      const Partition rows = partition_in_layers(480, t, ranks), tiles = tiles_in_layers(480, t, ranks);
      CHECK(tiles.block_rows == one.block_rows);
      for (int r = 0; r < ranks; r++) {
        Extents box = t.grid;
        box[std::size_t(t.last())] = rows.rows(r) / t.cells_of_layer();
        CHECK(tiles.rows(r) == RankTiles(box, t.tile).count());
      }
    }
  }
  CHECK(tiles_in_layers(480, {{48, 2, 5}, {1, 1, 1}}, 1).blocks() == 5 * 3);                // of 32 tiles
  CHECK(tiles_in_layers(480, {{6, 5, 16}, {2, 2, 3}}, 1).blocks() == 6);                    // of 9, a layer's
  const Partition many = tiles_in_layers(i64(256) << 16, {{256, 128, 512}, {8, 8, 8}}, 1);  // layers of 512
  CHECK(many.blocks() == 64 * 13);
  for (i64 first : many.block_rows) CHECK(first % 32 == 0);
}
