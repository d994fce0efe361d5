#include "sordino/precond/grid_steps.hpp"

#include <algorithm>
#include <cmath>

#include "sordino/precond/dense_inverse.hpp"
#include "sordino/precond/grid_neighbours.hpp"

namespace sordino {
namespace {

constexpr i64 few_cells = 64;     // of a grid that is not coarsened, but inverted
constexpr i64 looked_at = 65536;  // rows, of which strengths are means
constexpr double alike = 0.4;     // of the strongest: a pair leaves what is just below it with 1.6 times as much

// What a cycle moves, in bytes, and what making the inverse takes where an operation takes as long as a byte: for each of n^2
// entries as many as a layer has rows, and a panel of it columns (dense_inverse.hpp), once for so many iterations.
constexpr double bytes_of_row = 800, bytes_of_entry = 12, panel = 64, iterations = 32;

i64 count(const Extents& cells) { return cells[0] * cells[1] * cells[2]; }

/// Adds a row's couplings in each direction to its sides on which the box goes on, as parts of 1. False where a neighbour is
/// across an edge or a corner.
bool add_strengths(const CsrView& A, const Extents& grid, i64 row, std::array<double, 3>& to) {
  const Extents at = place(grid, row);
  std::array<double, 3> found{};
  std::array<int, 3> sides;
  for (std::size_t d = 0; d < 3; d++) sides[d] = (at[d] > 0) + (at[d] + 1 < grid[d]);
  for (i64 k = A.begin(row); k < A.begin(row + 1); k++) {
    const Extents other = place(grid, A.indices[k]);
    int directions = 0;
    for (std::size_t d = 0; d < 3; d++) {
      if (other[d] == at[d]) continue;
      directions++, found[d] += std::abs(A.values[k]);
      if (std::abs(other[d] - at[d]) > 1) sides[d] = 2;  // of a periodic box
    }
    if (directions > 1 && A.values[k] != 0) return false;
  }
  double all = 0;
  for (std::size_t d = 0; d < 3; d++)
    if (sides[d] > 0) all += found[d] /= sides[d];
  if (!(all > 0) || !std::isfinite(all)) return true;
  for (std::size_t d = 0; d < 3; d++) to[d] += found[d] / all;
  return true;
}

/// Levels as they come about, by cells and ranks' first layers.
class Steps {
 public:
  Steps(const std::array<double, 3>& strengths, const Extents& grid, const Partition& first) : strengths_(strengths) {
    found_.push_back({.cells = grid});
    for (int r = 0; r < first.ranks(); r++) layers_.push_back(first.first_row(r) / rows_of_layer(grid));
  }

  std::vector<GridStep> all() {
    while (count(found_.back().cells) > few_cells && advance()) {
    }
    return std::move(found_);
  }

 private:
  /// False where the layers of ranks are to be paired and cannot be: they stay, and nothing else grows, whose couplings would
  /// be too strong to smooth.
  bool advance() {
    GridStep& level = found_.back();
    const std::size_t last = std::size_t(last_direction(level.cells));
    Extents step = wanted(level.cells);
    if (step[last] == 2 && std::any_of(layers_.begin(), layers_.end(), [](i64 layer) { return layer % 2 != 0; })) return false;
    if (step[last] == 2)
      for (i64& layer : layers_) layer /= 2;
    level.step = step;
    GridStep next;
    for (std::size_t d = 0; d < 3; d++) {
      next.cells[d] = (level.cells[d] + step[d] - 1) / step[d];
      if (step[d] == 2) strengths_[d] /= 4;
    }
    found_.push_back(next);
    return true;
  }

  /// Directions with cells to pair that are about as strong as the strongest of them.
  Extents wanted(const Extents& cells) const {
    double strongest = 0;
    for (std::size_t d = 0; d < 3; d++)
      if (cells[d] > 1) strongest = std::max(strongest, strengths_[d]);
    Extents step{1, 1, 1};
    for (std::size_t d = 0; d < 3; d++)
      if (cells[d] > 1 && strengths_[d] >= alike * strongest) step[d] = 2;
    return step;
  }

  std::array<double, 3> strengths_;
  std::vector<GridStep> found_;
  std::vector<i64> layers_;  // [ranks] the first
};

double cost_of(i64 busiest, const Extents& last, int ranks) {
  const double entries = double(count(last)) * double(count(last));
  return bytes_of_row * double(busiest) +
         entries * (bytes_of_entry / ranks + (double(rows_of_layer(last)) + panel) / iterations);
}

i64 busiest_of(const Partition& partition) {
  i64 most = 0;
  for (int r = 0; r < partition.ranks(); r++) most = std::max<i64>(most, partition.rows(r));
  return most;
}

Tiling layers_of(const Extents& grid, i64 depth) {
  Tiling layers{.grid = grid, .tile = {1, 1, 1}};
  layers.tile[std::size_t(layers.last())] = depth;
  return layers;
}

/// Of layers of that depth or less, down to 1, those that cost least; without a grid where all end with too many cells.
Tiling cheapest_layers(const std::array<double, 3>& strengths, const Extents& grid, int ranks, i64 deepest) {
  Tiling best;
  double least = 0;
  for (i64 depth = deepest; depth > 0; depth /= 2) {
    const Tiling layers = layers_of(grid, depth);
    const Partition first = partition_in_layers(count(grid), layers, ranks);
    const Extents last = Steps(strengths, grid, first).all().back().cells;
    if (count(last) > most_inverted) break;  // of shallower ones there are more
    const double cost = cost_of(busiest_of(first), last, ranks);
    if (best.grid[0] == 0 || cost < least) best = layers, least = cost;
  }
  return best;
}

}  // namespace

std::array<double, 3> coupling_strengths(const CsrView& A, const Extents& grid) {
  const i64 apart = A.n / looked_at | 1;  // odd, so that rows are at all places of lines of 2^k cells
  std::array<double, 3> sums{};
  for (i64 row = 0; row < A.n; row += apart)
    if (!add_strengths(A, grid, row, sums)) return {1, 1, 1};
  return sums;
}

std::vector<GridStep> grid_steps(const std::array<double, 3>& strengths, const Extents& grid, const Partition& first) {
  auto found = Steps(strengths, grid, first).all();
  if (count(found.back().cells) <= most_inverted) return found;
  return Steps({1, 1, 1}, grid, first).all();
}

Tiling grid_layers(const CsrView& A, const Extents& grid, int ranks) {
  i64 deepest = 1;
  while (2 * deepest * ranks <= grid[std::size_t(last_direction(grid))]) deepest *= 2;
  for (const auto& strengths : {coupling_strengths(A, grid), std::array<double, 3>{1, 1, 1}})
    if (const Tiling found = cheapest_layers(strengths, grid, ranks, deepest); found.grid[0] > 0) return found;
  return layers_of(grid, deepest);  // which is refused
}

int last_direction(const Extents& cells) { return cells[2] > 1 ? 2 : cells[1] > 1 ? 1 : 0; }

i64 rows_of_layer(const Extents& cells) {
  i64 rows = 1;
  for (int d = 0; d < last_direction(cells); d++) rows *= cells[std::size_t(d)];
  return rows;
}

}  // namespace sordino
