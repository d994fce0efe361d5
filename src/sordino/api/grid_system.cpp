#include "sordino/api/grid_system.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "sordino/api/grid_choice.hpp"
#include "sordino/base/error.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino {
namespace {

constexpr const char* directions[] = {"x", "y", "z"};

/// Fewer than three cells in a direction: a third of its diagonal and more would be empty (storage_choice.hpp).
bool is_thin(const Extents& cells) {
  return std::any_of(cells.begin(), cells.end(), [](i64 count) { return count == 2; });
}

bool stores_by_diagonals(const Options& o) { return o.storage == "auto" || o.storage == "dia" || o.storage == "symdia"; }

bool is_distributed(const Options& o) {
  const bool replicated = o.solver != "auto" && method(o.solver).replicated;
  return !replicated && o.vectors == "auto" && o.partition == "blocks";
}

}  // namespace

FieldsOnHost::FieldsOnHost(const GridMatrix& given) : view_(given) {
  const auto take = [&](const double*& array, const char* what) {
    arrays_.push_back(std::make_unique<OnHost<double>>(array, given.n(), what));
    array = arrays_.back()->data();
  };
  take(view_.diagonal, "the diagonal");
  for (std::size_t d = 0; d < 3; d++)
    if (view_.cells[d] > 1) take(view_.ahead[d], "the entries between cells");
}

bool stays_by_fields(const System& s, const Options& o) {
  return s.grid.n() > GridLevels::most_on_host && !is_thin(s.grid.cells) && o.precond == "mg" && o.engine != "model" &&
         smoothing_of(o.smoother) == Smoothing::chebyshev && precision_of(o.cycle_precision) == CyclePrecision::full &&
         stores_by_diagonals(o) && is_distributed(o) && s.cuts.empty() && s.nullspace.right.count == 0 &&
         o.nullspace == "none" && !s.brings_preconditioner();
}

Options with_grid(const System& s, Options o) {
  if (!s.grid.is_given()) return o;
  const Extents& cells = s.grid.cells;
  i64 rows = 1;
  for (i64 count : cells) {
    if (count < 1) bad_argument("a grid has a cell in each direction at least, and not " + shown(cells));
    if (rows > std::numeric_limits<i32>::max() / count)
      throw Error(Errc::unsupported, "grids of 2^31 cells and more are not supported");
    rows *= count;
  }
  if (s.A.n != rows)
    bad_argument("the grid has " + std::to_string(rows) + " cells, and the system " + std::to_string(s.A.n) + " rows");
  for (std::size_t d = 0; d < 3; d++)
    if (cells[d] > 1 && !s.grid.ahead[d])
      bad_argument(std::string("a grid of ") + shown(cells) + " cells needs the entries between cells in " + directions[d]);
  if (!o.grid.empty() && parse_extents("grid", o.grid) != cells)
    bad_argument("grid is said to be " + o.grid + ", and the matrix is of a grid of " + shown(cells) + " cells");
  o.grid = std::to_string(cells[0]) + "," + std::to_string(cells[1]) + "," + std::to_string(cells[2]);
  return o;
}

LargeCsr rows_unless_by_fields(System& s, const Options& o) {
  if (!s.grid.is_given() || stays_by_fields(s, o)) return {};
  LargeCsr rows = rows_of(FieldsOnHost(s.grid).view());
  s.A = rows.view();
  s.grid = {};
  return rows;
}

i64 bytes_of_made_rows(const System& s, const Options& o) {
  if (!s.grid.is_given() || stays_by_fields(s, o)) return 0;
  const i64 n = s.grid.n(), each = sizeof(double) + sizeof(i32);
  return each * s.grid.entries(0, n) + i64(sizeof(i64)) * (n + 1);
}

}  // namespace sordino
