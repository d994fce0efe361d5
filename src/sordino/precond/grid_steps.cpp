#include "sordino/precond/grid_steps.hpp"

#include <algorithm>
#include <cmath>

#include "sordino/base/large_array.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/precond/grid_kernels.hpp"
#include "sordino/precond/grid_neighbours.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10, rows_ahead = 8;  // that are worth a thread, and that a CPU reads beside one
constexpr i64 line = 64;                             // of a cache, in bytes
constexpr double alike = 0.4;  // of the strongest: a pair leaves what is just below it with 1.6 times as much
constexpr double stretched_row = 5, stretched_part = 0.1;  // strongest over weakest, and of all rows

// What a rank's row of a level takes, and a level besides, in bytes that it moves.
constexpr double bytes_of_row = 800, bytes_of_level = 1 << 20;

// Of a grid that is not coarsened, but inverted: few cells, or, where many ranks wait for the one that has them, some for each
// rank, up to so many that making the inverse takes a tenth of a second.
constexpr i64 few_cells = 64, cells_a_rank = 16, most_cells = 1024;
constexpr double bytes_of_entry = 12;

i64 count(const Extents& cells) { return cells[0] * cells[1] * cells[2]; }

using Parts = std::array<double, 3>;  // a row's couplings in each direction, as parts of 1

/// What a row's entries add up to in each direction. Of those across edges and corners signs count: finite elements have both,
/// and what couples two layers is what all between them add up to.
struct Couplings {
  double sizes[3] = {}, sums[3] = {};
  int sides[3];  // on which the box goes on
  bool has_edges = false;

  Couplings(const Extents& at, const Extents& grid) {
    for (std::size_t d = 0; d < 3; d++) sides[d] = (at[d] > 0) + (at[d] + 1 < grid[d]);
  }
  void add(std::size_t d, double value) { sizes[d] += std::abs(value), sums[d] -= value; }
  Parts parts() const {
    Parts found;
    double positive[3];  // beside a wall they may be the wall's
    for (std::size_t d = 0; d < 3; d++) positive[d] = std::max(sums[d], 0.0);
    grid_kernels::parts_of_1(has_edges ? positive : sizes, sides, found.data());
    return found;
  }
};

/// [directions] The neighbours of a cell that are not beside it in a direction.
constexpr auto off_middle = [] {
  std::array<std::array<std::uint8_t, 18>, 3> found{};
  for (std::size_t d = 0, stride = 1; d < 3; d++, stride *= 3)
    for (std::size_t n = 0, next = 0; n < std::size_t(GridNeighbours::count); n++)
      if (n / stride % 3 != 1) found[d][next++] = std::uint8_t(n);
  return found;
}();

/// Of a row whose entries are of all neighbours in their order.
Parts parts_of_whole(const double* values, Couplings found) {
  for (std::size_t d = 0; d < 3; d++)
    for (std::uint8_t n : off_middle[d]) found.add(d, values[n]);
  found.has_edges = GridNeighbours::any_across(values);
  return found.parts();
}

Parts parts_of(const CsrView& A, const Extents& grid, const GridNeighbours& neighbours, i64 row) {
  const Extents at = place(grid, row);
  Couplings found(at, grid);
  if (neighbours.are_all(A, row, at)) return parts_of_whole(A.values + A.begin(row), found);
  for (i64 k = A.begin(row); k < A.begin(row + 1); k++) {
    const Extents other = place(grid, A.indices[k]);
    int directions = 0;
    for (std::size_t d = 0; d < 3; d++) {
      if (other[d] == at[d]) continue;
      directions++, found.add(d, A.values[k]);
      if (std::abs(other[d] - at[d]) > 1) found.sides[d] = 2;  // of a periodic box
    }
    found.has_edges |= directions > 1 && A.values[k] != 0;
  }
  return found.parts();
}

/// Of the rows that are looked at.
LargeArray<Parts> parts_of_some(const CsrView& A, const Extents& grid) {
  const i64 apart = rows_apart(A.n), count = (A.n + apart - 1) / apart;
  LargeArray<Parts> found(static_cast<std::size_t>(count));
  for_parts(
      0, count,
      [&](i64 begin, i64 end) {
        const GridNeighbours neighbours(grid);
        for (i64 k = begin; k < end; k++) {
          // Where rows are left out a CPU does not foresee what is read next.
          const i64 then = std::min(k + rows_ahead, end - 1) * apart;
          for (i64 at = A.begin(then); at < A.begin(then + 1); at += line / i64(sizeof(i32))) {
            __builtin_prefetch(A.indices + at);
            __builtin_prefetch(A.values + at);
            __builtin_prefetch(A.values + at + line / sizeof(double));
          }
          found[std::size_t(k)] = parts_of(A, grid, neighbours, k * apart);
        }
      },
      least_rows);
  return found;
}

/// Levels as they come about.
class Steps {
 public:
  Steps(const std::array<double, 3>& strengths, const Extents& grid, const Partition& first, i64 alone)
      : strengths_(strengths), ranks_(first, grid, alone), few_(cells_to_invert(first.ranks(), alone)) {
    found_.push_back({.cells = grid, .cuts = ranks_.cuts()});
  }

  std::vector<GridStep> all() {
    while (count(found_.back().cells) > few_) advance();
    return std::move(found_);
  }

 private:
  void advance() {
    GridStep& level = found_.back();
    const int last = last_direction(level.cells);
    level.step = wanted(level.cells);
    if (!ranks_.can_pair()) level.step[std::size_t(last)] = 1;
    if (level.step[std::size_t(last)] == 2) ranks_.pair();
    GridStep next;
    for (std::size_t d = 0; d < 3; d++) {
      next.cells[d] = (level.cells[d] + level.step[d] - 1) / level.step[d];
      if (level.step[d] == 2) strengths_[d] /= 4;
    }
    const int then = last_direction(next.cells);
    if (then != last) ranks_.recount(next.cells[std::size_t(then)]);
    ranks_.settle(count(next.cells), count(next.cells) > few_ && wanted(next.cells)[std::size_t(then)] == 2);
    next.cuts = ranks_.cuts();
    found_.push_back(std::move(next));
  }

  /// An inverse's entries take no more than a level that one rank has.
  static i64 cells_to_invert(int ranks, i64 alone) {
    const i64 as_a_level = i64(std::sqrt(double(alone) * bytes_of_row / bytes_of_entry));
    return std::clamp(std::min(cells_a_rank * ranks, as_a_level), few_cells, most_cells);
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
  LevelRanks ranks_;
  i64 few_;
  std::vector<GridStep> found_;
};

i64 busiest_of(const GridStep& level) {
  i64 most = 0;
  for (std::size_t r = 0; r + 1 < level.cuts.size(); r++) most = std::max(most, level.cuts[r + 1] - level.cuts[r]);
  return most * rows_of_layer(level.cells);
}

double cost_of(const std::vector<GridStep>& levels) {
  double bytes = 0;
  for (std::size_t l = 0; l < levels.size(); l++) {
    const bool moved = l > 0 && levels[l].cuts != cuts_below(levels[l - 1], levels[l].cells);
    bytes += bytes_of_level + bytes_of_row * double(busiest_of(levels[l])) * (moved ? 2 : 1);
  }
  return bytes;
}

Tiling layers_of(const Extents& grid, i64 depth) {
  Tiling layers{.grid = grid, .tile = {1, 1, 1}};
  layers.tile[std::size_t(layers.last())] = depth;
  return layers;
}

}  // namespace

std::array<double, 3> coupling_strengths(const CsrView& A, const Extents& grid) {
  std::array<double, 3> sums{};
  for (const Parts& parts : parts_of_some(A, grid))  // in their order, on any number of threads
    for (std::size_t d = 0; d < 3; d++) sums[d] += parts[d];
  return sums;
}

bool has_stretched_rows(const CsrView& A, const Extents& grid) {
  const LargeArray<Parts> all = parts_of_some(A, grid);
  const i64 stretched = std::count_if(all.begin(), all.end(), [&](const Parts& parts) {
    double least = 1, most = 0;
    for (std::size_t d = 0; d < 3; d++)
      if (grid[d] > 1) least = std::min(least, parts[d]), most = std::max(most, parts[d]);
    return most > stretched_row * least;
  });
  return double(stretched) > stretched_part * double(all.size());
}

std::vector<GridStep> grid_steps(const std::array<double, 3>& strengths, const Extents& grid, const Partition& first,
                                 i64 alone) {
  return Steps(strengths, grid, first, alone).all();
}

std::vector<i64> cuts_below(const GridStep& level, const Extents& cells) {
  const std::size_t last = std::size_t(last_direction(level.cells));
  std::vector<i64> cuts = level.cuts;
  for (i64& cut : cuts) {
    cut = (cut + level.step[last] - 1) / level.step[last];
    if (last_direction(cells) != int(last)) cut *= cells[std::size_t(last_direction(cells))];
  }
  return cuts;
}

Tiling grid_layers(const CsrView& A, const Extents& grid, int ranks, i64 alone) {
  return grid_layers(coupling_strengths(A, grid), grid, ranks, alone);
}

Tiling grid_layers(const std::array<double, 3>& strengths, const Extents& grid, int ranks, i64 alone) {
  i64 deepest = 1;
  while (2 * deepest * ranks <= grid[std::size_t(last_direction(grid))]) deepest *= 2;
  Tiling best;
  double least = 0;
  for (i64 depth = deepest; depth > 0; depth /= 2) {
    const Tiling layers = layers_of(grid, depth);
    const double cost = cost_of(grid_steps(strengths, grid, partition_in_layers(count(grid), layers, ranks), alone));
    if (depth == deepest || cost < least) best = layers, least = cost;
  }
  return best;
}

}  // namespace sordino
