// How the cells of a grid, which are the rows of a matrix, are cut into tiles: the blocks of a block preconditioner.
#pragma once
#include <string>
#include <vector>

#include "sordino/linalg/boxes.hpp"
#include "sordino/linalg/partition.hpp"

namespace sordino {

struct Tiling {
  Extents grid = {};  // of all rows
  Extents tile = {};  // all 0: the rows of each rank are one tile, however many they are
  /// [n] The cell of each row, where ranks own boxes (System::cells); null: rows are in the order of cells. Not owned.
  const i64* cells = nullptr;
  /// Whether ranks own any layers of cells, or none: tiles begin at a rank's first one.
  bool in_any_layers = false;

  bool one_a_rank() const { return tile[0] == 0; }
  /// The last direction in which there is more than one cell: ranks have whole layers of tiles in it.
  int last() const;
  i64 cells_of_layer() const;                                                         // that is one cell deep
  i64 rows_of_layer() const { return tile[std::size_t(last())] * cells_of_layer(); }  // of tiles
};

/// Options `grid` (empty: the rows are one line) and `tile`, or what auto takes: on the host one tile a rank, which loses the
/// fewest couplings to one thread; on a device, which needs a tile for each of many threads, what costs least of 4 x 4 x 4 to 8
/// x 8 x 8 cells of a grid that is given (ADR 29). Throws bad_argument with one sentence if it is not, also for a tile of more
/// than a line's cells, if the grid has not n cells, or if there is no layer of tiles for each rank.
Tiling choose_tiling(i64 n, const std::string& grid, const std::string& tile, int ranks, bool device);

/// The same where ranks own boxes, each cut by itself: tiles begin at its corner, and fit into the smallest. `cells`: of rows.
Tiling choose_tiling(const Boxes& boxes, const i64* cells, const std::string& tile, bool device);

/// Ranks get whole layers of tiles, as equally many as there are, and blocks of sums lie in one layer or have several: so a
/// tile, and every bit of what is solved, is the same on any number of ranks. Not for one tile a rank.
Partition partition_in_layers(i64 n, const Tiling& tiling, int ranks);

/// The tiles of these ranks, as rows of a space of their own: ranks have their layers', and blocks have whole warps of a GPU as
/// far as a layer has so many. So what is added up tile by tile has the same bits on any number of ranks.
Partition tiles_in_layers(i64 n, const Tiling& tiling, int ranks);

/// The tiles of one rank: a box of cells, which are numbered from 0, x fastest; at its ends tiles may be cut off.
struct RankTiles {
  i32 box[3] = {1, 1, 1}, tile[3] = {1, 1, 1}, along[3] = {1, 1, 1};  // cells, cells, and tiles in each direction

  RankTiles() = default;
  RankTiles(const Extents& box, const Extents& tile);
  SORDINO_HD i32 count() const { return along[0] * along[1] * along[2]; }
  /// Of a whole tile; cells of any tile are numbered as if it were one.
  SORDINO_HD i32 cells() const { return tile[0] * tile[1] * tile[2]; }
  SORDINO_HD i32 rows() const { return box[0] * box[1] * box[2]; }

  struct Place {
    i32 tile, cell;
  };
  Place place(i32 number) const {
    i32 x = number % box[0], y = number / box[0] % box[1], z = number / (box[0] * box[1]);
    return {x / tile[0] + along[0] * (y / tile[1] + along[1] * (z / tile[2])),
            x % tile[0] + tile[0] * (y % tile[1] + tile[1] * (z % tile[2]))};
  }
  /// A line of cells in x: `inside` of them are there, beginning with number `first`.
  struct Line {
    i32 first, inside;
  };
  SORDINO_HD Line line(i32 t, i32 y, i32 z) const {
    const i32 x0 = t % along[0] * tile[0], y0 = t / along[0] % along[1] * tile[1] + y,
              z0 = t / (along[0] * along[1]) * tile[2] + z;
    const i32 left = box[0] - x0;
    return {x0 + box[0] * (y0 + box[1] * z0), y0 < box[1] && z0 < box[2] ? (left < tile[0] ? left : tile[0]) : 0};
  }
};

/// A rank's rows, counted from its first one, as cells of its tiles.
struct TiledRows {
  RankTiles tiles;
  i64 first_row;
  const i64* cells;
  std::vector<i32> numbers;  // [rows] of their cells; empty: rows are in the order of cells
  std::vector<i32> rows;     // [rows] of cells by their numbers; likewise

  /// Throws bad_argument if the rows of a rank that should own a box are none.
  TiledRows(const Tiling& tiling, i64 first_row, i32 rows);
  RankTiles::Place place(i32 row) const { return tiles.place(numbers.empty() ? row : numbers[std::size_t(row)]); }
  i32 row(i32 number) const { return rows.empty() ? number : rows[std::size_t(number)]; }
  /// By the number that it has where cells are in order.
  i64 in_matrix(i32 row) const { return cells ? cells[first_row + row] : first_row + row; }
};

}  // namespace sordino
