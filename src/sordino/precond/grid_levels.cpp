#include "sordino/precond/grid_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/base/range.hpp"
#include "sordino/precond/block_ilu_smoother.hpp"
#include "sordino/precond/cross_coarsening.hpp"
#include "sordino/precond/dense_inverse.hpp"
#include "sordino/precond/eight_colour_smoother.hpp"
#include "sordino/precond/grid_coarsening.hpp"
#include "sordino/precond/grid_neighbours.hpp"
#include "sordino/precond/grid_steps.hpp"
#include "sordino/precond/red_black_smoother.hpp"
#include "sordino/precond/row_facts.hpp"
#include "sordino/precond/scale_exponent.hpp"
#include "sordino/precond/stiff_parts.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;       // that are worth a thread
constexpr double some = 1e-3;             // of all rows; and of a cross-section, for a surface has fewer of more
constexpr double some_of_section = 0.05;  // cells
constexpr double uneven = 10;             // of directions' couplings, the strongest over the weakest
constexpr i64 most_aggregated = 1 << 15;  // rows of a level below which aggregates may be by couplings,
constexpr i64 aggregated_a_rank = 64;     // and for each rank that owns any

/// Whether so many rows of n lie between phases that smoothing has to do with it.
bool has_phases(i64 steep, i64 n) {
  return double(steep) > std::min(some * double(n), some_of_section * std::pow(double(n), 2.0 / 3));
}

/// Whether the row's columns are of neighbouring cells, and, if so, whether some couple it across an edge or a
/// corner.
std::pair<bool, bool> has_neighbours(GridNeighbours& neighbours, const CsrView& A, i64 row, const Extents& at) {
  const i64 begin = A.begin(row), end = A.begin(row + 1);
  bool has_edges = false;
  for (i64 k = begin; k < end; k++) {
    const int found = neighbours.find(row, at, A.indices[k], std::size_t(k - begin));
    if (found < 0) return {false, false};
    const Extents by = GridNeighbours::step(found);
    has_edges |= A.values[k] != 0 && std::abs(by[0]) + std::abs(by[1]) + std::abs(by[2]) > 1;
  }
  return {true, has_edges};
}

/// Whether any cell is coupled across an edge or a corner; columns are of neighbours.
bool any_across(const CsrView& A, const Extents& cells) {
  const auto none = [&](i64 begin, i64 end) {
    GridNeighbours neighbours(cells);
    Extents at = place(cells, begin);
    for (i64 row = begin; row < end; row++, advance(at, cells))
      if (has_neighbours(neighbours, A, row, at).second) return false;
    return true;
  };
  return !all_parts(0, A.n, none);
}

RowFacts facts_of(const CsrView& A, i64 row) {
  RowFacts facts;
  for (i64 k = A.begin(row); k < A.begin(row + 1); k++) facts.add(A.values[k], A.indices[k] == row);
  return facts;
}

/// The same of a row whose entries are of all neighbours in their order.
RowFacts facts_of_whole(const double* values) {
  RowFacts facts;
  for (int n = 0; n < GridNeighbours::count; n++) facts.add(values[n], n == GridNeighbours::itself);
  return facts;
}

/// Whether the last layer's cells are neighbours of the first one's, across the ends of the box.
bool is_periodic(const CsrView& A, const Extents& grid) {
  const std::size_t last = std::size_t(last_direction(grid));
  if (grid[last] < 3) return false;
  const i64 behind = A.n - rows_of_layer(grid);
  const auto has_none = [&](i64 begin, i64 end) {
    return std::all_of(A.indices + A.begin(begin), A.indices + A.begin(end), [&](i32 column) { return column < behind; });
  };
  return !all_parts(0, rows_of_layer(grid), has_none);
}

/// Which rows take part, and the bound of spectral_bound(). False, and half done, where a diagonal is not positive or, if that
/// is to be looked at, an entry is of no neighbour.
bool find_facts(GridLevel& level, const CsrView& A, bool looks_at_neighbours) {
  if (level.takes_part.size() == 0) level.takes_part = LargeArray<double>(std::size_t(A.n));
  std::mutex mutex;
  double bound = 0;
  i64 steep_rows = 0, uneven_rows = 0;
  bool is_cross = true, has_edges = false;
  const auto look = [&](i64 begin, i64 end) {
    GridNeighbours neighbours(level.cells);
    const CrossReader cross(A, level.cells);
    double largest = 0;
    i64 steep = 0, uneven = 0;
    bool all_are_cross = true, some_across = false;
    Extents at = place(level.cells, begin);
    for (i64 row = begin; row < end; row++, advance(at, level.cells)) {
      const bool is_whole = neighbours.are_all(A, row, at);
      if (looks_at_neighbours && !cross.holds(row, at)) {
        all_are_cross = false;
        const auto [are_neighbours, across] =
            is_whole ? std::pair(true, some_across || GridNeighbours::any_across(A.values + A.begin(row)))
                     : has_neighbours(neighbours, A, row, at);
        if (!are_neighbours) return false;
        some_across = some_across || across;
      }
      const RowFacts facts = is_whole ? facts_of_whole(A.values + A.begin(row)) : facts_of(A, row);
      if (!(facts.diagonal > 0)) return false;
      largest = std::max(largest, facts.magnitudes / facts.diagonal);
      level.takes_part[std::size_t(row)] = facts.couples();
      steep += facts.is_steep();
      uneven += facts.is_uneven();
    }
    std::lock_guard lock(mutex);
    bound = std::max(bound, largest);
    steep_rows += steep;
    uneven_rows += uneven;
    is_cross = is_cross && all_are_cross;
    has_edges = has_edges || some_across;
    return true;
  };
  const bool found = all_parts(0, A.n, look);
  level.bound = bound;
  level.has_phases = has_phases(steep_rows, A.n);
  level.is_uneven = uneven_rows > 0;
  if (looks_at_neighbours) level.is_cross = is_cross, level.has_edges = has_edges;
  return found;
}

/// Whether some direction is coupled far more strongly than another: then parts that are stiff are lines or planes of cells, of
/// one phase, which pairs in that direction are for.
bool is_stretched(const CsrView& A, const Extents& cells) {
  const std::array<double, 3> strengths = coupling_strengths(A, cells);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t d = 0; d < 3; d++)
    if (cells[d] > 1) least = std::min(least, strengths[d]), most = std::max(most, strengths[d]);
  return most > uneven * least;
}

void require_neighbours(const CsrView& A, const Extents& grid) {
  auto check = [&](i64 row, const Extents& from, i64 column) {
    const Extents to = place(grid, column);
    for (std::size_t d = 0; d < 3; d++)
      if (std::abs(step_between(from[d], to[d], grid[d])) > 1)
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

static_assert(most_aggregated <= GridLevels::most_on_host);  // so that levels of fields are looked at, too

}  // namespace

GridLevels::GridLevels(const CsrView& A, const Extents& grid, const Partition& first, i64 alone, CyclePrecision precision,
                       Smoothing smoothing)
    : given_(A), precision_(precision), smoothing_(smoothing) {
  add(grid, first, {});
  if (!find_facts(levels_.front(), A, true)) {  // which is wrong: the first of the one kind, or of the other
    require_neighbours(A, grid);
    require_positive(A);
  }
  levels_.front().is_periodic = is_periodic(A, grid);
  const int exponent = scale_exponent(A, precision);
  add_all(coupling_strengths(A, grid), first, alone);
  degree_ = levels_.front().has_phases || is_stretched_ ? 2 : 1;
  first_in_double_ = lowered();
  exponent_ = count() > 1 ? exponent : 0;
  find_all();
  find_damping();
  find_colours();
}

/// Whose matrices are still to be found.
void GridLevels::add_all(const std::array<double, 3>& strengths, const Partition& first, i64 alone) {
  is_stretched_ = levels_.front().has_edges && has_stretched_rows(given_, levels_.front().cells);
  const auto steps = grid_steps(strengths, levels_.front().cells, first, alone);
  for (std::size_t l = 0; l + 1 < steps.size(); l++) {
    const Extents& cells = steps[l + 1].cells;
    levels_.back().step = steps[l].step;
    add(cells, partition_in_cuts(steps[l + 1].cuts, cells), partition_in_cuts(cuts_below(steps[l], cells), cells));
  }
}

void GridLevels::find_all() {
  Range range("make levels of rows");
  for (int l = 1; l < count() && !below_; l++) {
    if (!level(l).made.is_given()) find_values_of(l);
    if (mixes_below(l)) aggregate_below(l);
  }
  if (!below_) find_inverse();
}

void GridLevels::take_facts(GridLevel& level, const GridFacts& facts) {
  level.bound = facts.bound;
  level.has_phases = has_phases(facts.steep, level.partition.n);
  level.is_cross = true;
}

/// Of a level below those that stay where they are made. The arrays that it has stay, where operators look.
void GridLevels::take_rows(GridLevel& level, LargeCsr rows) {
  if (level.A.n == 0) {
    level.A = std::move(rows);
    level.is_cross = true;
    level.diagonals = diagonals_of_level(level.A.view());
  } else {
    std::copy(rows.values.begin(), rows.values.end(), level.A.values.begin());
  }
  find_facts(level, level.A.view(), false);
}

bool GridLevels::closed() const { return given_.n > 0 ? is_closed(given_) : made_closed_; }

/// Of all levels, where it matters.
void GridLevels::find_colours() {
  if (smoothing_ != Smoothing::sor) return;
  for (int l = 0; l < last_grid(); l++) {
    int& colours = levels_[std::size_t(l)].colours;
    const auto coupled = [&] { return coupled_in_colour(matrix(l), level(l).cells, colours); };
    colours = 2;
    if (coupled().first < 0) continue;
    colours = 8;
    const auto [row, column] = coupled();
    if (row < 0) continue;
    colours = 0;
    if (l == 0)
      bad_argument("smoother sor is for cells of two colours, as with 7 points, or of eight, as with 27, and on a grid of " +
                   shown(level(0).cells) + " cells " + std::to_string(row) + " and " + std::to_string(column) +
                   ", which are coupled, are not kept apart by them: use smoother block-ilu or chebyshev");
  }
}

std::unique_ptr<LevelSmoother> GridLevels::smoother(Rank& rank, int l, const Operator& A, Vec inverse_diagonal) const {
  if (l < last_grid() && smoothing_ == Smoothing::block_ilu) return std::make_unique<BlockIluSmoother>(rank, *this, l, A);
  if (l < last_grid() && level(l).colours == 2) return std::make_unique<RedBlackSmoother>(rank, *this, l, A.space());
  if (l < last_grid() && level(l).colours == 8) return std::make_unique<EightColourSmoother>(rank, *this, l, A.space());
  return MultigridLevels::smoother(rank, l, A, inverse_diagonal);
}

SmootherSize GridLevels::smoother_size(int l, int rank, i64 ghosts, bool device) const {
  if (l < last_grid() && smoothing_ == Smoothing::block_ilu) return BlockIluSmoother::size_of(*this, l, rank, ghosts, device);
  if (l < last_grid() && level(l).colours == 2) return RedBlackSmoother::size_of(level(l), rank);
  if (l < last_grid() && level(l).colours == 8) return EightColourSmoother::size_of(level(l), rank);
  return MultigridLevels::smoother_size(l, rank, ghosts, device);
}

void GridLevels::add(const Extents& cells, Partition partition, Partition adding) {
  GridLevel& level = levels_.emplace_back();
  level.cells = cells;
  level.partition = std::move(partition);
  level.adding = std::move(adding);
  level.is_periodic = levels_.front().is_periodic;
}

void GridLevels::update(const CsrView& A) {
  if (given_.n == 0) throw Error(Errc::unsupported, "levels that were made of a grid's fields take no new values of rows");
  require_positive(A);
  const int exponent = scale_exponent(A, precision_);
  exponent_ = count() > 1 ? exponent : 0;
  given_ = A;
  find_facts(levels_.front(), A, false);
  gained_edges_ = !level(0).is_cross && !level(0).has_edges && any_across(A, level(0).cells);
  find_values();
}

/// How many levels are in lower precision where one is asked for.
int GridLevels::lowered() const {
  int l = std::min(count() - 1, 1);
  while (l + 1 < count() && !level(l).moves()) l++;
  return l;
}

/// By a power of 2.
void GridLevels::scale(GridLevel& level, int exponent) {
  if (exponent != 0)
    for (double& value : level.A.values) value = std::ldexp(value, exponent);
}

/// Of a level below the first one, of those of the one above it.
void GridLevels::find_values_of(int l) {
  GridLevel& level = levels_[std::size_t(l)];
  coarsen(matrix(l - 1), levels_[std::size_t(l - 1)], level);
  if (l == first_in_double_) scale(level, -exponent_);  // those below it are made of it
  find_facts(level, matrix(l), false);
}

/// Of all levels below the first one, whose facts are known.
void GridLevels::find_values() {
  for (int l = 1; l <= last_grid(); l++) find_values_of(l);
  find_damping();
  if (below_) return below_->update(matrix(last_grid()), closed());
  find_inverse();
}

/// Of levels that are smoothed by tiles.
void GridLevels::find_damping() {
  for (int l = 0; l < last_grid() && smoothing_ == Smoothing::block_ilu; l++)
    levels_[std::size_t(l)].damping = damping(matrix(l), partition(l), smoothing_tiles(level(l).cells));
}

void GridLevels::find_inverse() {
  CsrMatrix inverse = inverse_of(matrix(count() - 1), closed());
  if (last_inverse_.values.size() == inverse.values.size())
    std::copy(inverse.values.begin(), inverse.values.end(), last_inverse_.values.begin());
  else
    last_inverse_ = std::move(inverse);
}

/// Whether pairs of a level's cells would mix parts that smoothing does not tell apart, and it is small enough to be
/// aggregated otherwise.
bool GridLevels::mixes_below(int l) const {
  const Partition& rows = partition(l);
  i64 owners = 0;
  for (int r = 0; r < rows.ranks(); r++) owners += rows.rows(r) > 0;
  return level(l).is_uneven && l + 1 < count() && rows.n <= most_aggregated && rows.n >= owners * aggregated_a_rank &&
         !is_stretched(matrix(l), level(l).cells) && count_stiff_parts(matrix(l)) > 1;
}

/// In place of the levels that there are, unless ranks' rows that are coupled with nobody leave too many for an inverse.
void GridLevels::aggregate_below(int l) {
  GridLevel& level = levels_[std::size_t(l)];
  const int divided = l < first_in_double_ ? exponent_ : 0;
  scale(level, -divided);
  try {
    below_ = std::make_unique<AlgebraicLevels>(matrix(l), partition(l), closed(), -1);
  } catch (const Error& e) {
    if (e.code() != Errc::bad_argument) throw;
    scale(level, divided);
    return;
  }
  levels_.resize(std::size_t(l) + 1);
  levels_.back().step = {1, 1, 1};
  first_in_double_ = std::min(first_in_double_, l);
}

}  // namespace sordino
