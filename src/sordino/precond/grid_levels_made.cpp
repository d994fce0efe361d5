// Levels of a GridMatrix: the large ones stay where their maker has them, and nobody has their rows.
#include <algorithm>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/precond/dense_inverse.hpp"
#include "sordino/precond/grid_levels.hpp"

namespace sordino {

namespace {

void require_usable(const GridFacts& facts) {
  constexpr const char* not_finite = "holds a NaN or Inf, or entries that are too large to add up";
  const auto refuse = [](i64 row, const char* what) {
    bad_argument("row " + std::to_string(row) + " of the grid's matrix " + what);
  };
  if (facts.not_finite != GridFacts::none && facts.not_finite <= facts.not_positive) refuse(facts.not_finite, not_finite);
  if (facts.not_positive != GridFacts::none)
    refuse(facts.not_positive,
           "has a diagonal that is not positive, and precond mg needs a symmetric positive definite matrix: use precond jacobi "
           "or none");
}

}  // namespace

/// What slabs make of a matrix.
struct GridLevels::Made {
  std::vector<SlabLevel> levels;  // of the last one P^T and P alone, where it has rows
  std::vector<GridFacts> facts;   // of those that have none
  LargeCsr rows = {};
};

GridLevels::GridLevels(std::shared_ptr<GridSlabs> slabs, const std::array<double, 3>& strengths, const Partition& first,
                       i64 alone, const JudgeFacts& judge)
    : slabs_(std::move(slabs)), precision_(CyclePrecision::full), smoothing_(Smoothing::chebyshev) {
  add(slabs_->cells(), first, {});
  add_all(strengths, first, alone);
  take(made_of(*slabs_, judge));
  degree_ = levels_.front().has_phases ? 2 : 1;
  find_all();
}

void GridLevels::update(std::shared_ptr<GridSlabs> slabs, const JudgeFacts& judge) {
  Made made = made_of(*slabs, judge);
  slabs_ = std::move(slabs);  // from here on nothing is refused
  take(std::move(made));
  Range range("make levels of rows");
  for (int l = 1; l <= last_grid(); l++)
    if (!level(l).made.is_given()) find_values_of(l);
  if (!below_) return find_inverse();
  try {
    below_->update(matrix(last_grid()), closed());
    below_fits_ = true;
  } catch (const Error& e) {
    if (e.code() != Errc::bad_argument) throw;
    below_fits_ = false;  // as if they had been refused at setup, where pairs take their place
  }
}

/// As far down as levels are large, and one more.
std::vector<SlabStep> GridLevels::levels_to_make() const {
  std::vector<SlabStep> found;
  for (std::size_t l = 0; l < levels_.size() && (l == 0 || levels_[l - 1].partition.n > most_on_host); l++)
    found.push_back({levels_[l].cells, levels_[l].step});
  return found;
}

/// Where slabs begin, in layers: one for each rank, if there may be as many and ranks own the same layers on all these levels.
std::vector<i64> GridLevels::cuts(i64 most_slabs, const std::vector<SlabStep>& levels) const {
  const int ranks = levels_.front().partition.ranks(), last = last_direction(levels_.front().cells);
  const auto owned = [&](std::size_t l, int rank) {
    return levels_[l].partition.first_row(rank) / rows_of_layer(levels_[l].cells);
  };
  std::vector<i64> found, of_level;
  for (int rank = 0; rank <= ranks; rank++) found.push_back(owned(0, rank));
  bool are_alike = most_slabs == ranks && std::adjacent_find(found.begin(), found.end()) == found.end();
  of_level = found;
  for (std::size_t l = 1; l < levels.size() && are_alike; l++) {
    const i64 step = levels[l - 1].step[std::size_t(last)];
    for (int rank = 0; rank < ranks; rank++) are_alike = are_alike && of_level[std::size_t(rank)] % step == 0;
    for (i64& cut : of_level) cut = (cut + step - 1) / step;
    are_alike = are_alike && last_direction(levels[l].cells) == last;
    if (levels_[l].partition.n <= most_on_host) continue;  // whose rows the host has
    for (int rank = 0; rank < ranks; rank++) are_alike = are_alike && of_level[std::size_t(rank)] == owned(l, rank);
  }
  return are_alike ? found : std::vector<i64>{0, levels_.front().cells[std::size_t(last)]};
}

GridLevels::Made GridLevels::made_of(GridSlabs& slabs, const JudgeFacts& judge) const {
  Range range("make levels of fields");
  const std::vector<SlabStep> levels = levels_to_make();
  slabs.divide(cuts(slabs.most_slabs(), levels), levels);
  Made made{.levels = {slabs.first()}, .facts = {}};
  made.facts = {slabs.facts(made.levels.front())};
  require_usable(made.facts.front());
  if (judge) judge(made.facts.front());
  for (std::size_t l = 1; l < levels.size(); l++) {
    made.levels.push_back(slabs.next(made.levels.back()));
    SlabLevel& last = made.levels.back();
    if (levels_[l].partition.n > most_on_host) {
      made.facts.push_back(slabs.facts(last));
    } else {
      made.rows = slabs.rows(last);
      for (MadeSlab& slab : last.slabs) slab.made.A = {};
    }
  }
  return made;
}

void GridLevels::take(Made made) {
  made_closed_ = !made.facts.front().is_open;
  for (std::size_t l = 0; l < made.levels.size(); l++) levels_[l].made = made.levels[l];
  for (std::size_t l = 0; l < made.facts.size(); l++) take_facts(levels_[l], made.facts[l]);
  if (made.rows.n > 0) take_rows(levels_[made.facts.size()], std::move(made.rows));
}

MadeRows GridLevels::made(int l) const {
  if (l > last_grid() || !level(l).made.has_rows()) return {};
  const Extents& cells = level(l).cells;
  return {.n = level(l).partition.n,
          .diagonals = {.offsets = offsets_of(cells)},
          .entries = [cells](i64 first, i64 rows) { return GridMatrix{.cells = cells}.entries(first, rows); },
          .fill = [this, l](const Diagonals& diagonals, i64 first, i64 rows,
                            double* to) { slabs_->fill(level(l).made, diagonals, first, rows, to); },
          .inverse_diagonal = [this, l](i64 row) { return level(l).made.inverse_diagonal(row); }};
}

void GridLevels::release() {
  Range range("give back what levels were made of");
  for (GridLevel& level : levels_) level.made = {};
  slabs_ = nullptr;
}

}  // namespace sordino
