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

/// The arrays that are read.
void require_arrays(const GridMatrix& A) {
  for (std::size_t d = 0; d < 3; d++)
    if (A.cells[d] > 1 && !A.ahead[d])
      bad_argument("a grid of " + shown(A.cells) + " cells needs the entries between cells in " + directions[d]);
}

bool is_distributed(const Options& o) {
  const bool replicated = o.solver != "auto" && method(o.solver).replicated;
  return !replicated && o.vectors == "auto" && o.partition == "blocks";
}

}  // namespace

FieldsOnHost::FieldsOnHost(const GridMatrix& given, void* stream) : view_(given) {
  const auto take = [&](const double*& array, const char* what) {
    arrays_.push_back(std::make_unique<OnHost<double>>(array, given.n(), what, stream));
    array = arrays_.back()->data();
  };
  take(view_.diagonal, "the diagonal");
  for (std::size_t d = 0; d < 3; d++)
    if (view_.cells[d] > 1) take(view_.ahead[d], "the entries between cells");
}

void wait_for_fields(const GridMatrix& fields, void* stream) {
  wait_for_callers(fields.diagonal, stream);
  for (std::size_t d = 0; d < 3; d++)
    if (fields.cells[d] > 1) wait_for_callers(fields.ahead[d], stream);
}

std::string why_rows(const System& s, const Options& o) {
  const auto& periodic = s.grid.periodic;
  const std::pair<bool, std::string> wants[] = {
      {s.brings_preconditioner(), "the caller brings a preconditioner"},
      {o.precond != "mg", "precond " + o.precond + " is of entries, and mg alone is of fields"},
      {o.engine == "model", "engine model reckons with rows"},
      {s.grid.n() <= GridLevels::most_on_host,
       "the grid has no more than " + std::to_string(GridLevels::most_on_host) + " cells"},
      {is_thin(s.grid.cells), "the grid has two cells in a direction"},
      {std::any_of(periodic, periodic + 3, [](bool is) { return is; }), "the grid is periodic"},
      {smoothing_of(o.smoother) != Smoothing::chebyshev, "smoother " + o.smoother + " is of entries"},
      {precision_of(o.cycle_precision) != CyclePrecision::full, "cycle_precision is " + o.cycle_precision},
      {!stores_by_diagonals(o), "storage is " + o.storage},
      {!is_distributed(o) || !s.cuts.empty(), "ranks do not own layers of cells, with their rows of each vector"},
      {s.nullspace.right.count > 0, "vectors are given as the nullspace, and not the word constant"}};
  const auto* const found = std::find_if(std::begin(wants), std::end(wants), [](const auto& want) { return want.first; });
  return found == std::end(wants) ? "" : found->second;
}

bool stays_by_fields(const System& s, const Options& o) { return why_rows(s, o).empty(); }

bool prefers_levels(const System& s, const Options& o) {
  const bool takes_cg = o.solver == "auto" || o.solver == "cg";
  const bool bits_are_free = o.deterministic != "on" || o.ranks == 1;
  return s.grid.is_given() && o.precond == "auto" && o.engine == "cuda" && takes_cg && o.cycle != "f" && bits_are_free &&
         stays_by_fields(s, with_levels(o));
}

Options with_levels(Options o) {
  o.precond = "mg";
  return o;
}

std::string how_fields_are_taken(const System& s, const Options& o) {
  if (!s.grid.is_given()) return "";
  const std::string why = why_rows(s, o);
  return why.empty() ? "levels are made of the grid's fields where these lie"
                     : "rows are made of the grid's fields on the CPU, as " + why;
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
  require_arrays(s.grid);
  for (std::size_t d = 0; d < 3; d++)
    if (s.grid.periodic[d] && cells[d] < 3)
      bad_argument("a grid of " + shown(cells) + " cells is too thin to be periodic in " + directions[d] +
                   ": three cells there, at least");
  if (!o.grid.empty() && parse_extents("grid", o.grid) != cells)
    bad_argument("grid is said to be " + o.grid + ", and the matrix is of a grid of " + shown(cells) + " cells");
  o.grid = std::to_string(cells[0]) + "," + std::to_string(cells[1]) + "," + std::to_string(cells[2]);
  return o;
}

void require_like(const GridMatrix& fields, const GridMatrix& before) {
  if (before.n() == 0) bad_argument("the matrix is not given by the fields of a grid, and takes none as new values");
  const bool is_alike = fields.cells == before.cells && std::equal(fields.periodic, fields.periodic + 3, before.periodic);
  if (!fields.is_given() || !is_alike)
    bad_argument("the matrix is of a grid of " + shown(before.cells) + " cells, and the new fields are of " +
                 shown(fields.cells) + (fields.cells == before.cells ? ", or periodic in other directions" : ""));
  require_arrays(fields);
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
