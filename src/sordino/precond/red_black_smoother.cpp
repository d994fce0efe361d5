#include "sordino/precond/red_black_smoother.hpp"

#include <mutex>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/grid_layers.hpp"
#include "sordino/precond/grid_neighbours.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread

/// Of a rank's layers, pairs of cells in x.
i64 pairs_of(const LayerShape& shape) { return i64(shape.cells[0] + 1) / 2 * shape.cells[1] * shape.cells[2]; }

/// Which of a cell's stored numbers an entry of such a neighbour is.
int slot_of(int neighbour) {
  switch (neighbour) {
    case 4: return 0;
    case 10: return 1;
    case 12: return 2;
    case 14: return 3;
    case 16: return 4;
    case 22: return 5;
    default: return red_black::inverse_diagonal;
  }
}

}  // namespace

std::pair<i64, i64> coupled_in_colour(const CsrView& A, const Extents& cells) {
  std::pair<i64, i64> found{-1, -1};
  std::mutex mutex;
  const auto colour = [&](i64 row) {
    const Extents at = place(cells, row);
    return (at[0] + at[1] + at[2]) % 2;
  };
  const auto none = [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; row++)
      for (i64 k = A.begin(row), own = colour(row); k < A.begin(row + 1); k++) {
        const i64 column = A.indices[k];
        if (column == row || colour(column) != own) continue;
        std::lock_guard lock(mutex);
        if (found.first < 0 || row < found.first) found = {row, column};
        return;
      }
  };
  for_parts(0, A.n, none, least_rows);
  return found;
}

RedBlackSmoother::RedBlackSmoother(Rank& rank, const GridLevels& levels, int l, int space)
    : rank_(rank), levels_(levels), level_(l), space_(space) {
  const Layers layers = Layers::owned(levels.level(l));
  exchange_ = LayerWords<double>(layers, rank.id()).halo(rank, space);
  split_ = split_of_layers<double>(rank, layers, space, 1);
  cells_.shape = shape_of<double>(layers, rank.id());
  cells_.half = (cells_.shape.cells[0] + 1) / 2;
  cells_.pairs = i32(pairs_of(cells_.shape));
  cells_.first = i32(HeldLayers(layers, rank.id()).first % 2);
  numbers_ = 2 * red_black::slots * i64(cells_.pairs);
  const std::size_t numbers = std::size_t(numbers_);
  stored_ = static_cast<double*>(rank.engine().allocate_bytes(rank, numbers * sizeof(double)));
  cells_.stored = stored_;
  if (rank.engine().is_device()) staging_ = std::make_unique<double[]>(numbers);
  red_ = operand(rank, "x, red"), black_ = operand(rank, "x, black");
  RedBlackSmoother::update_values(rank);
}

RedBlackSmoother::~RedBlackSmoother() { rank_.engine().release_bytes(rank_, stored_, std::size_t(numbers_) * sizeof(double)); }

void RedBlackSmoother::update_values(Rank& rank) {
  if (!rank.engine().arithmetic() || numbers_ == 0) return;
  fill(staging_ ? staging_.get() : stored_);
  if (staging_) rank.engine().upload(rank, stored_, staging_.get(), std::size_t(numbers_) * sizeof(double));
}

/// Cells that are not there, at the ends of odd lines, keep zeros, which nobody reads.
void RedBlackSmoother::fill(double* to) const {
  std::fill(to, to + numbers_, 0.0);
  const GridLevel& level = levels_.level(level_);
  const CsrView A = levels_.matrix(level_);
  const i64 first = level.partition.first_row(rank_.id());
  const auto some = [&](i64 begin, i64 end) {
    GridNeighbours neighbours(level.cells);
    for (i64 i = begin; i < end; i++) {
      const i64 row = first + i, entries = A.begin(row);
      const auto cell = cells_.cell(i32(i));
      const Extents at = place(level.cells, row);
      for (i64 k = entries; k < A.begin(row + 1); k++) {
        const int slot = slot_of(neighbours.find(row, at, A.indices[k], std::size_t(k - entries)));
        to[cells_.place(cell, slot)] = slot == red_black::inverse_diagonal ? 1 / A.values[k] : A.values[k];
      }
    }
  };
  for_parts(0, level.partition.rows(rank_.id()), some, least_rows);
}

void RedBlackSmoother::apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const {
  rank.run(red_black::First{cells_, b, red_});
  rank.push_last(red_);
  rank.run_split(red_black::Relax{cells_, 1, b, red_, x}, split_);
  rank.push_last(x);
  rank.run_split(red_black::Left{cells_, x, left}, split_);
}

void RedBlackSmoother::improve(Rank& rank, Vec b, Vec x, Vec to) const {
  rank.push_last(x);
  rank.run_split(red_black::Relax{cells_, 1, b, x, black_}, split_);
  rank.push_last(black_);
  rank.run_split(red_black::Relax{cells_, 0, b, black_, to}, split_);
}

void RedBlackSmoother::leave(Rank& rank, Vec b, Vec x, Vec to) const {
  rank.push_last(x);
  rank.run_split(red_black::Residual{cells_, b, x, to}, split_);
}

SmootherSize RedBlackSmoother::size_of(const GridLevel& level, int rank) {
  const Layers layers = Layers::owned(level);
  const i64 held = LayerWords<double>(layers, rank).held(), rows = level.partition.rows(rank);
  return {held - rows, i64(sizeof(double)) * (2 * held + 2 * red_black::slots * pairs_of(shape_of<double>(layers, rank)))};
}

}  // namespace sordino
