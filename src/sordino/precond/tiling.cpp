#include "sordino/precond/tiling.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

constexpr i64 tiles_together = 32;  // a GPU's warp solves them at once

/// The deepest tiles of which there is a layer for every rank; 0: there are fewer cells than ranks.
i64 deepest(i64 cells, int ranks) { return ranks == 1 ? cells : (cells - 1) / (ranks - 1); }

double cells_of(const Extents& box) { return double(box[0]) * double(box[1]) * double(box[2]); }

/// Which part of the couplings of neighbouring cells is between cells of two tiles.
double part_cut(const Extents& box, const Extents& tile) {
  double cut = 0, all = 0;
  for (int a = 0; a < 3; a++) {
    const double across = cells_of(box) / double(box[a]);
    cut += across * double((box[a] + tile[a] - 1) / tile[a] - 1);
    all += across * double(box[a] - 1);
  }
  return all > 0 ? cut / all : 0;
}

/// What a solve of a box takes on a device, in no unit, as measured on an H200 (ADR 29): iterations by the couplings that are
/// cut, and an iteration by its bytes, and by a tile's cells, which wait for each other.
double cost_on_device(const Extents& box, const Extents& tile) {
  constexpr double iterations_of_cut = 1.8, bytes_of_row = 240, rate = 4.3e12, seconds_of_cell = 0.3e-6;
  return (1 + iterations_of_cut * part_cut(box, tile)) *
         (cells_of(box) * bytes_of_row / rate + cells_of(tile) * seconds_of_cell);
}

/// The best of the tiles that were measured, cut off at a rank's box, and no deeper than `most`.
Extents automatic(const Extents& box, const Extents& most) {
  constexpr Extents measured[] = {{4, 4, 4}, {8, 4, 4}, {8, 4, 8}, {8, 8, 4}, {8, 8, 8}};
  Extents best = {};
  for (Extents tile : measured) {
    for (int a = 0; a < 3; a++) tile[a] = std::min(tile[a], most[a]);
    if (best[0] == 0 || cost_on_device(box, tile) < cost_on_device(box, best)) best = tile;
  }
  return best;
}

/// With a layer of tiles for each rank, if there can be one.
Extents automatic_in_layers(const Tiling& t, int ranks) {
  Extents box = t.grid, most = t.grid;
  const int last = t.last();
  box[last] = (t.grid[last] + ranks - 1) / ranks;
  most[last] = std::max<i64>(deepest(t.grid[last], ranks), 1);
  return automatic(box, most);
}

void require_fits(const Tiling& t, const Extents& box, const std::string& what) {
  for (int a = 0; a < 3; a++)
    if (t.tile[a] > box[a]) bad_argument("tile " + shown(t.tile) + " is larger than " + what);
}

/// A tile for which no grid is said has no neighbours but those of a line.
void require_in_layers(const Tiling& t, bool is_line, int ranks) {
  const std::string grid = "the grid of " + shown(t.grid) + " cells", all = std::to_string(ranks) + " ranks";
  if (is_line && (t.tile[1] > 1 || t.tile[2] > 1))
    bad_argument("tile " + shown(t.tile) + " needs the cells of the grid (option grid): without them the " +
                 std::to_string(t.grid[0]) + " rows are one line");
  if (ranks == 1) return require_fits(t, t.grid, grid);
  Extents box = t.grid;
  box[t.last()] = deepest(box[t.last()], ranks);
  if (box[t.last()] == 0)
    bad_argument(all + " need a layer of tiles each, and " + grid + " has " + std::to_string(t.grid[t.last()]) + " at most");
  require_fits(t, box, shown(box) + " cells: each of " + all + " needs a layer of tiles of " + grid);
}

/// `n` things in layers of so many, of which the last may have fewer. Ranks get whole layers. Blocks have several layers, or
/// lie in one and begin at a multiple of `together` of its things.
Partition whole_layers(i64 n, i64 of_layer, i64 together, int ranks) {
  const i64 layers = (n + of_layer - 1) / of_layer;
  const i64 units = std::min<i64>(layers, std::max(default_blocks, ranks));  // each of one layer, or of several
  auto first = [&](i64 unit) { return std::min(n, layers * unit / units * of_layer); };
  const i64 smallest = n - first(units - 1);  // the last one, if any is
  const i64 parts = std::clamp<i64>(default_blocks / units, 1, std::max<i64>(1, smallest / together));
  Partition p{n, {}, {}};
  for (i64 unit = 0; unit < units; unit++)
    for (i64 part = 0; part < parts; part++)
      p.block_rows.push_back(first(unit) + (first(unit + 1) - first(unit)) * part / parts / together * together);
  p.block_rows.push_back(n);
  for (int rank = 0; rank <= ranks; rank++) p.rank_blocks.push_back(i32(units * rank / ranks * parts));
  return p;
}

/// Of a rank that has whole layers.
RankTiles in_layers(const Tiling& t, i32 rows) {
  if (t.one_a_rank()) return {{rows, 1, 1}, {rows, 1, 1}};
  Extents box = t.grid;
  box[t.last()] = rows / t.cells_of_layer();
  return {box, t.tile};
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
  t.tile = tile == "auto" ? automatic_in_layers(t, ranks) : parse_extents("tile", tile);
  require_in_layers(t, grid.empty(), ranks);
  return t;
}

Tiling choose_tiling(const Boxes& boxes, const i64* cells, const std::string& tile, bool device) {
  Tiling t{.grid = boxes.grid, .cells = cells};
  if (tile == "auto" && !device) return t;
  Extents box = {};
  for (int a = 0; a < 3; a++) box[a] = boxes.grid[a] / boxes.along[a];
  t.tile = tile == "auto" ? automatic(box, box) : parse_extents("tile", tile);
  require_fits(t, box, "the smallest box of a rank, " + shown(box) + " cells");
  return t;
}

Partition partition_in_layers(i64 n, const Tiling& tiling, int ranks) {
  return whole_layers(n, tiling.rows_of_layer(), 1, ranks);
}

Partition tiles_in_layers(i64 n, const Tiling& tiling, int ranks) {
  const i64 layers = (n + tiling.rows_of_layer() - 1) / tiling.rows_of_layer();
  i64 of_layer = 1;
  for (int a = 0; a < tiling.last(); a++) of_layer *= (tiling.grid[a] + tiling.tile[a] - 1) / tiling.tile[a];
  return whole_layers(layers * of_layer, of_layer, tiles_together, ranks);
}

RankTiles::RankTiles(const Extents& of_box, const Extents& of_tile) {
  for (int a = 0; a < 3; a++) {
    box[a] = i32(of_box[a]);
    tile[a] = i32(of_tile[a]);
    along[a] = (box[a] + tile[a] - 1) / tile[a];
  }
}

TiledRows::TiledRows(const Tiling& tiling, i64 first, i32 count) : first_row(first), cells(tiling.cells) {
  if (!cells) {
    tiles = in_layers(tiling, count);
    return;
  }
  auto at = [&](i32 row) {
    const i64 cell = cells[first_row + row], line = cell / tiling.grid[0];
    return Extents{cell % tiling.grid[0], line % tiling.grid[1], line / tiling.grid[1]};
  };
  Extents low = at(0), high = low;
  for (i32 row = 0; row < count; row++)
    for (int a = 0; a < 3; a++) {
      low[a] = std::min(low[a], at(row)[a]);
      high[a] = std::max(high[a], at(row)[a]);
    }
  const Extents box = {high[0] - low[0] + 1, high[1] - low[1] + 1, high[2] - low[2] + 1};
  if (box[0] * box[1] * box[2] != count) bad_argument("block-ilu cuts the boxes of ranks, and a rank's cells are no box");
  tiles = {box, tiling.one_a_rank() ? box : tiling.tile};
  rows.resize(std::size_t(count));
  for (i32 row = 0; row < count; row++) {
    const Extents cell = at(row);
    numbers.push_back(i32(cell[0] - low[0] + box[0] * (cell[1] - low[1] + box[1] * (cell[2] - low[2]))));
    rows[std::size_t(numbers.back())] = row;
  }
}

}  // namespace sordino
