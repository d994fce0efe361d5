#include "sordino/precond/grid_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/precond/chebyshev.hpp"
#include "sordino/precond/dense_inverse.hpp"

namespace sordino {
namespace {

constexpr i64 few_cells = 64;        // of a grid that is not coarsened, but inverted
constexpr i64 least_rows = 1 << 10;  // that are worth a thread
constexpr int middle = 13;           // of the 27 neighbours of a cell, itself among them, x fastest

int last_direction(const Extents& cells) { return cells[2] > 1 ? 2 : cells[1] > 1 ? 1 : 0; }

/// Rows are numbered by 32 bits, whose division is several times as fast as that of 64.
Extents place(const Extents& cells, i64 row) {
  const u32 number = u32(row), nx = u32(cells[0]), ny = u32(cells[1]), line = number / nx, z = line / ny;
  return {i64(number - line * nx), i64(line - z * ny), i64(z)};
}
i64 row_of(const Extents& cells, const Extents& at) { return at[0] + cells[0] * (at[1] + cells[1] * at[2]); }

i64 rows_of_layer(const Extents& cells) {
  const int last = last_direction(cells);
  i64 rows = 1;
  for (int d = 0; d < last; d++) rows *= cells[std::size_t(d)];
  return rows;
}

/// Whether the layers of all ranks can be taken in pairs.
bool can_halve(const GridLevel& level, int direction) {
  if (level.cells[std::size_t(direction)] == 1) return false;
  if (direction != last_direction(level.cells)) return true;
  const i64 layer = rows_of_layer(level.cells);
  for (int r = 1; r < level.partition.ranks(); r++)
    if (level.partition.first_row(r) / layer % 2 != 0) return false;
  return true;
}

Partition coarse_partition(const GridLevel& fine, const Extents& coarse) {
  const std::size_t last = std::size_t(last_direction(fine.cells));
  const i64 of_fine = rows_of_layer(fine.cells) * fine.step[last];
  i64 of_coarse = 1;
  for (std::size_t d = 0; d < last; d++) of_coarse *= coarse[d];
  std::vector<std::vector<i64>> blocks;
  for (int r = 0; r < fine.partition.ranks(); r++) blocks.push_back({fine.partition.first_row(r) / of_fine * of_coarse});
  return partition_at(coarse[0] * coarse[1] * coarse[2], blocks);
}

/// Entries of a row of the coarse matrix, by its neighbours.
struct Neighbours {
  std::array<double, 27> values{};
  std::array<bool, 27> there{};
};

bool has_couplings(const CsrView& A, i64 row) {
  for (i64 k = A.begin(row); k < A.begin(row + 1); k++)
    if (A.indices[k] != row && A.values[k] != 0) return true;
  return false;
}

/// P^T A P of one aggregate, with what crosses a direction of pairs counted half.
Neighbours coarse_row(const CsrView& A, const GridLevel& fine, const Extents& coarse, i64 row) {
  Neighbours found;
  found.there[middle] = true;
  const Extents corner = place(coarse, row);
  double excess = 0;
  const int halves[3] = {fine.step[0] == 2, fine.step[1] == 2, fine.step[2] == 2};  // a division, of every entry, takes longer
  auto add = [&](i64 i) {
    const bool takes_part = fine.takes_part[std::size_t(i)] != 0;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      const Extents to = place(fine.cells, A.indices[k]);
      int slot = 0;
      for (int d = 2; d >= 0; d--) slot = 3 * slot + int((to[std::size_t(d)] >> halves[d]) - corner[std::size_t(d)]) + 1;
      found.there[std::size_t(slot)] = true;
      if (!takes_part) continue;
      excess += A.values[k];
      if (slot != middle) found.values[std::size_t(slot)] += A.values[k];
    }
  };
  for (i64 z = 0; z < fine.step[2]; z++)
    for (i64 y = 0; y < fine.step[1]; y++)
      for (i64 x = 0; x < fine.step[0]; x++) {
        const Extents at{corner[0] * fine.step[0] + x, corner[1] * fine.step[1] + y, corner[2] * fine.step[2] + z};
        if (at[0] < fine.cells[0] && at[1] < fine.cells[1] && at[2] < fine.cells[2]) add(row_of(fine.cells, at));
      }
  double diagonal = halves[0] || halves[1] || halves[2] ? excess / 2 : excess;
  for (int slot = 0; slot < 27; slot++) {
    if (slot == middle) continue;
    const int moved[3] = {slot % 3 - 1, slot / 3 % 3 - 1, slot / 9 - 1};
    double share = 1;
    for (std::size_t d = 0; d < 3; d++)
      if (moved[d] != 0 && fine.step[d] == 2) share = 0.5;
    found.values[std::size_t(slot)] *= share;
    diagonal -= found.values[std::size_t(slot)];
  }
  found.values[middle] = diagonal > 0 ? diagonal : 1;  // of an aggregate in which no cell takes part
  return found;
}

template <class Do>
void for_coarse_rows(const CsrView& A, const GridLevel& fine, const GridLevel& coarse, const Do& act) {
  for_parts(
      0, coarse.cells[0] * coarse.cells[1] * coarse.cells[2],
      [&](i64 begin, i64 end) {
        for (i64 row = begin; row < end; row++) act(row, coarse_row(A, fine, coarse.cells, row));
      },
      least_rows);
}

/// Rows that are begun, and not yet filled.
CsrMatrix begun(const CsrView& A, const GridLevel& fine, const GridLevel& coarse) {
  CsrMatrix to;
  to.n = coarse.cells[0] * coarse.cells[1] * coarse.cells[2];
  to.indptr.assign(std::size_t(to.n + 1), 0);
  for_coarse_rows(A, fine, coarse, [&](i64 row, const Neighbours& found) {
    to.indptr[std::size_t(row + 1)] = std::count(found.there.begin(), found.there.end(), true);
  });
  for (i64 row = 0; row < to.n; row++) to.indptr[std::size_t(row + 1)] += to.indptr[std::size_t(row)];
  to.indices.resize(std::size_t(to.indptr.back()));
  to.values.resize(to.indices.size());
  return to;
}

/// The pattern stays, and the arrays, where operators look.
void find_coarse_values(const CsrView& A, const GridLevel& fine, GridLevel& coarse) {
  const bool is_new = coarse.A.n == 0;
  if (is_new) coarse.A = begun(A, fine, coarse);
  const i64 nx = coarse.cells[0], ny = coarse.cells[1];
  for_coarse_rows(A, fine, coarse, [&](i64 row, const Neighbours& found) {
    i64 next = coarse.A.indptr[std::size_t(row)];
    for (int slot = 0; slot < 27; slot++) {
      if (!found.there[std::size_t(slot)]) continue;
      if (is_new) coarse.A.indices[std::size_t(next)] = i32(row + slot % 3 - 1 + nx * (slot / 3 % 3 - 1 + ny * (slot / 9 - 1)));
      coarse.A.values[std::size_t(next++)] = found.values[std::size_t(slot)];
    }
  });
  if (is_new) coarse.diagonals = diagonals_of(coarse.A.view(), "dia");
}

void require_neighbours(const CsrView& A, const Extents& grid) {
  auto check = [&](i64 row, const Extents& from, i64 column) {
    const Extents to = place(grid, column);
    for (std::size_t d = 0; d < 3; d++)
      if (std::abs(to[d] - from[d]) > 1)
        bad_argument("precond mg is for matrices whose entries are of neighbouring cells, and on a grid of " + shown(grid) +
                     " row " + std::to_string(row) + " has one in column " + std::to_string(column) +
                     ": give the matrix's own grid");
  };
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        for (i64 row = begin; row < end; row++)
          for (i64 k = A.begin(row); k < A.begin(row + 1); k++) check(row, place(grid, row), A.indices[k]);
      },
      least_rows);
}

void require_positive(const CsrView& A) {
  auto check = [&](i64 row) {
    double diagonal = 0;
    for (i64 k = A.begin(row); k < A.begin(row + 1); k++)
      if (A.indices[k] == row) diagonal = A.values[k];
    if (!(diagonal > 0))
      bad_argument("precond mg needs a symmetric positive definite matrix, and the diagonal of row " + std::to_string(row) +
                   " is not positive: use precond jacobi or none");
  };
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        for (i64 row = begin; row < end; row++) check(row);
      },
      least_rows);
}

}  // namespace

i64 GridLevels::depth(const Extents& grid, int ranks) {
  i64 depth = 1;
  while (2 * depth * ranks <= grid[std::size_t(last_direction(grid))]) depth *= 2;
  return depth;
}

GridLevels::GridLevels(const CsrView& A, const Extents& grid, const Partition& first) : given_(A) {
  require_neighbours(A, grid);
  require_positive(A);
  levels_.push_back({.cells = grid, .step = {1, 1, 1}, .partition = first});
  for (;;) {
    GridLevel& level = levels_.back();
    const i64 n = level.cells[0] * level.cells[1] * level.cells[2];
    bool coarsens = false;
    for (int d = 0; n > few_cells && d < 3; d++)
      if (can_halve(level, d)) level.step[std::size_t(d)] = 2, coarsens = true;
    if (coarsens && last_direction(level.cells) > 0 && !can_halve(level, last_direction(level.cells))) {
      level.step = {1, 1, 1};  // layers stay, and nothing else grows: their couplings would be too strong to smooth
      coarsens = false;
    }
    if (!coarsens) break;
    Extents coarse;
    for (std::size_t d = 0; d < 3; d++) coarse[d] = (level.cells[d] + level.step[d] - 1) / level.step[d];
    Partition partition = coarse_partition(level, coarse);
    levels_.push_back({.cells = coarse, .step = {1, 1, 1}, .partition = std::move(partition)});
  }
  const Extents& last = levels_.back().cells;
  if (const i64 n = last[0] * last[1] * last[2]; n > most_inverted)
    bad_argument("precond mg coarsens whole layers of each rank, and on " + std::to_string(first.ranks()) +
                 " ranks a grid of " + shown(grid) + " ends with one of " + shown(last) + " cells, more than " +
                 std::to_string(most_inverted) + ", which are inverted: use fewer ranks, or precond jacobi");
  find_values();
}

void GridLevels::update(const CsrView& A) {
  require_positive(A);
  given_ = A;
  find_values();
}

void GridLevels::find_values() {
  for (int l = 0; l < count(); l++) {
    GridLevel& level = levels_[std::size_t(l)];
    const CsrView A = matrix(l);
    level.takes_part.resize(std::size_t(A.n));
    for_parts(
        0, A.n,
        [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; i++) level.takes_part[std::size_t(i)] = has_couplings(A, i);
        },
        least_rows);
    level.bound = spectral_bound(A);
    if (l + 1 < count()) find_coarse_values(A, level, levels_[std::size_t(l + 1)]);
  }
  CsrMatrix inverse = inverse_of(matrix(count() - 1));
  if (last_inverse_.values.size() == inverse.values.size())
    std::copy(inverse.values.begin(), inverse.values.end(), last_inverse_.values.begin());
  else
    last_inverse_ = std::move(inverse);
}

}  // namespace sordino
