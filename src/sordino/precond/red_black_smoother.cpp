#include "sordino/precond/red_black_smoother.hpp"

#include <mutex>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/grid_layers.hpp"
#include "sordino/precond/grid_neighbours.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread

red_black::Cells cells_of(const GridLevel& level, int rank) {
  const Layers layers = Layers::owned(level);
  red_black::Cells cells{};
  cells.shape = shape_of<double>(layers, rank);
  cells.half = (cells.shape.cells[0] + 1) / 2;
  cells.pairs = cells.half * cells.shape.cells[1] * cells.shape.cells[2];
  cells.first = i32(HeldLayers(layers, rank).first % 2);
  return cells;
}

i64 numbers_of(const red_black::Cells& cells) { return 2 * red_black::slots * i64(cells.pairs); }

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

std::pair<i64, i64> coupled_in_colour(const CsrView& A, const Extents& cells, int colours) {
  std::pair<i64, i64> found{-1, -1};
  std::mutex mutex;
  const auto colour = [&](i64 row) {
    const Extents at = place(cells, row);
    return colours == 2 ? (at[0] + at[1] + at[2]) % 2 : at[0] % 2 + 2 * (at[1] % 2) + 4 * (at[2] % 2);
  };
  // Kernels know a neighbour's colour by the step to it: red ones' are through faces, and of eight no end of a direction with
  // odd many cells is beside the other.
  const auto is_known = [&](const Extents& from, const Extents& to) {
    i64 steps = 0;
    bool wraps_oddly = false;
    for (std::size_t d = 0; d < 3; d++) {
      steps += std::abs(step_between(from[d], to[d], cells[d]));
      wraps_oddly = wraps_oddly || (std::abs(to[d] - from[d]) > 1 && cells[d] % 2 == 1);
    }
    return colours == 2 ? steps == 1 : !wraps_oddly;
  };
  const auto none = [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; row++)
      for (i64 k = A.begin(row), own = colour(row); k < A.begin(row + 1); k++) {
        const i64 column = A.indices[k];
        if (column == row || (colour(column) != own && is_known(place(cells, row), place(cells, column)))) continue;
        std::lock_guard lock(mutex);
        if (found.first < 0 || row < found.first) found = {row, column};
        return;
      }
  };
  for_parts(0, A.n, none, least_rows);
  return found;
}

RedBlackSmoother::RedBlackSmoother(Rank& rank, const GridLevels& levels, int l, int space)
    : levels_(levels),
      level_(l),
      space_(space),
      cells_(cells_of(levels.level(l), rank.id())),
      stored_(rank, numbers_of(cells_)) {
  const Layers layers = Layers::owned(levels.level(l));
  exchange_ = LayerWords<double>(layers, rank.id()).halo(rank, space);
  split_ = split_of_layers<double>(rank, layers, space, 1);
  cells_.stored = stored_.data();
  red_ = operand(rank, "x, red"), black_ = operand(rank, "x, black");
  RedBlackSmoother::update_values(rank);
}

void RedBlackSmoother::update_values(Rank& rank) {
  stored_.fill([&](double* to) { fill(to, rank.id()); });
}

/// Cells that are not there, at the ends of odd lines, keep zeros, which nobody reads.
void RedBlackSmoother::fill(double* to, int rank) const {
  const GridLevel& level = levels_.level(level_);
  const CsrView A = levels_.matrix(level_);
  const i64 first = level.partition.first_row(rank);
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
  for_parts(0, level.partition.rows(rank), some, least_rows);
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
  const i64 held = LayerWords<double>(Layers::owned(level), rank).held(), rows = level.partition.rows(rank);
  return {held - rows, i64(sizeof(double)) * (2 * held + numbers_of(cells_of(level, rank)))};
}

}  // namespace sordino
