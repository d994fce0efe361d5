#include "sordino/precond/grid_layers.hpp"

namespace sordino {

HeldLayers::HeldLayers(const Layers& level, int rank) {
  const i64 layer = rows_of_layer(level.cells), all = level.partition.n / layer;
  first = level.partition.first_row(rank) / layer, end = level.partition.first_row(rank + 1) / layer;
  const bool all_are_own = first == end || end - first == all;
  const auto other = [&](i64 number) {
    const bool is_outside = number < 0 || number == all;
    return all_are_own || (is_outside && !level.is_periodic) ? -1 : (number + all) % all;
  };
  before = other(first - 1), last = other(end);
}

std::vector<i64> HeldLayers::ghosts() const {
  std::vector<i64> layers;
  for (i64 layer : {before, last})
    if (layer >= 0) layers.push_back(layer);
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

GhostRanges ghost_rows(const Layers& level, int rank) {
  const i64 layer = rows_of_layer(level.cells);
  std::vector<ColumnRange> rows;
  for (i64 number : HeldLayers(level, rank).ghosts()) rows.push_back({number * layer, (number + 1) * layer});
  return GhostRanges(rows);
}

}  // namespace sordino
