// Levels of a GridMatrix: the large ones stay where their maker has them, and nobody has their rows.
#include <algorithm>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/precond/dense_inverse.hpp"
#include "sordino/precond/grid_levels.hpp"

namespace sordino {

GridFacts usable_facts(GridMaker& maker, const GridMatrix& A) {
  constexpr const char* not_finite = "holds a NaN or Inf, or entries that are too large to add up";
  const auto refuse = [](i64 row, const char* what) {
    bad_argument("row " + std::to_string(row) + " of the grid's matrix " + what);
  };
  const GridFacts facts = maker.facts(A);
  if (facts.not_finite != GridFacts::none && facts.not_finite <= facts.not_positive) refuse(facts.not_finite, not_finite);
  if (facts.not_positive != GridFacts::none)
    refuse(facts.not_positive,
           "has a diagonal that is not positive, and precond mg needs a symmetric positive definite matrix: use precond jacobi "
           "or none");
  return facts;
}

/// What a maker makes of a matrix.
struct GridLevels::Made {
  std::vector<MadeLevel> levels;  // of the last one P^T and P alone, where it has rows
  std::vector<GridFacts> facts;   // of those that have none
  LargeCsr rows = {};
};

GridLevels::GridLevels(std::shared_ptr<GridMaker> maker, const GridMatrix& A, const GridFacts& usable,
                       const std::array<double, 3>& strengths, const Partition& first, i64 alone)
    : maker_(std::move(maker)), precision_(CyclePrecision::full), smoothing_(Smoothing::chebyshev) {
  add(A.cells, first, {});
  take_facts(levels_.front(), usable);
  add_all(strengths, first, alone);
  take(made_of(*maker_, A, usable));
  find_all();
}

void GridLevels::update(std::shared_ptr<GridMaker> maker, const GridMatrix& A, const GridFacts& usable) {
  Made made = made_of(*maker, A, usable);
  maker_ = std::move(maker);  // from here on nothing is refused
  take(std::move(made));
  Range range("make levels of rows");
  for (int l = 1; l <= last_grid(); l++)
    if (!level(l).is_made()) find_values_of(l);
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
GridLevels::Made GridLevels::made_of(GridMaker& maker, const GridMatrix& A, const GridFacts& facts) const {
  Range range("make levels of fields");
  std::vector<Extents> cells{A.cells};
  for (std::size_t l = 1; l < levels_.size() && levels_[l - 1].partition.n > most_on_host; l++)
    cells.push_back(levels_[l].cells);
  maker.expect(cells);
  Made made{.levels = {maker.first(A)}, .facts = {facts}};
  for (std::size_t l = 1; l < cells.size(); l++) {
    made.levels.push_back(maker.next(made.levels.back(), levels_[l - 1].step, cells[l]));
    MadeLevel& last = made.levels.back();
    if (levels_[l].partition.n > most_on_host)
      made.facts.push_back(maker.facts(last.A));
    else
      made.rows = maker.rows(std::exchange(last.A, {}));
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
  if (l > last_grid() || !level(l).made.A.is_given()) return {};
  const GridMatrix& A = level(l).made.A;
  return {.n = A.n(),
          .diagonals = {.offsets = offsets_of(A.cells)},
          .entries = [cells = A.cells](i64 first, i64 rows) { return GridMatrix{.cells = cells}.entries(first, rows); },
          .fill = [this, l](const Diagonals& diagonals, i64 first, i64 rows,
                            double* to) { maker_->fill(level(l).made.A, diagonals, first, rows, to); },
          .inverse_diagonal = level(l).made.inverse_diagonal};
}

void GridLevels::release() {
  Range range("give back what levels were made of");
  for (GridLevel& level : levels_) level.made = {};
  maker_ = nullptr;
}

}  // namespace sordino
