#include "sordino/precond/tiling.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

constexpr Extents tile_of_device = {4, 4, 4};

/// The deepest tiles of which there is a layer for every rank; 0: there are fewer cells than ranks.
i64 deepest(i64 cells, int ranks) { return ranks == 1 ? cells : (cells - 1) / (ranks - 1); }

/// Of a device, with a layer of tiles for each rank, if there can be one.
Extents automatic(const Tiling& t, int ranks) {
  Extents tile = {};
  for (int a = 0; a < 3; a++) tile[a] = std::min(tile_of_device[a], t.grid[a]);
  i64& depth = tile[t.last()];
  depth = std::clamp<i64>(deepest(t.grid[t.last()], ranks), 1, depth);
  return tile;
}

}  // namespace

int Tiling::last() const { return grid[2] > 1 ? 2 : grid[1] > 1 ? 1 : 0; }

i64 Tiling::cells_of_layer() const {
  i64 cells = 1;
  for (int a = 0; a < last(); a++) cells *= grid[a];
  return cells;
}

Tiling choose_tiling(i64 n, const std::string& grid, const std::string& tile, int ranks, bool device) {
  Tiling t;
  t.grid = grid.empty() ? Extents{n, 1, 1} : parse_grid(n, grid);
  if (tile == "auto" && !device) return t;
  if (tile == "auto" && grid.empty())
    bad_argument(
        "on GPUs precond block-ilu needs the cells of the grid (option grid), or a tile of so many rows (option tile)");
  t.tile = tile == "auto" ? automatic(t, ranks) : parse_extents("tile", tile);
  Extents box = t.grid;
  box[t.last()] = deepest(box[t.last()], ranks);
  for (int a = 0; a < 3; a++)
    if (t.tile[a] > box[a])
      bad_argument("tile " + shown(t.tile) + " is larger than a rank's box, of the " + shown(t.grid) + " cells of " +
                   std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"));
  return t;
}

Partition partition_in_layers(i64 n, const Tiling& tiling, int ranks) {
  const i64 depth = tiling.tile[tiling.last()], rows = depth * tiling.cells_of_layer(), layers = (n + rows - 1) / rows;
  const i64 units = std::min<i64>(layers, std::max(default_blocks, ranks));  // each of one layer, or of several
  auto first = [&](i64 unit) { return std::min(n, layers * unit / units * rows); };
  const i64 parts =
      std::clamp<i64>(default_blocks / units, 1, n - first(units - 1));  // the last one is the smallest, if any is
  Partition p{n, {}, {}};
  for (i64 unit = 0; unit < units; unit++)
    for (i64 part = 0; part < parts; part++)
      p.block_rows.push_back(first(unit) + (first(unit + 1) - first(unit)) * part / parts);
  p.block_rows.push_back(n);
  for (int rank = 0; rank <= ranks; rank++) p.rank_blocks.push_back(i32(units * rank / ranks * parts));
  return p;
}

RankTiles::RankTiles(const Tiling& tiling, i32 rows) {
  if (tiling.one_a_rank()) {
    box[0] = tile[0] = rows;
    return;
  }
  for (int a = 0; a < 3; a++) {
    box[a] = i32(a == tiling.last() ? rows / tiling.cells_of_layer() : tiling.grid[a]);
    tile[a] = i32(tiling.tile[a]);
    along[a] = (box[a] + tile[a] - 1) / tile[a];
  }
}

}  // namespace sordino
