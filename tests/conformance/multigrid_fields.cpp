// Precond mg of a matrix that is given by the fields of a grid: made where these lie, with the bits of what rows give.
#include <cmath>

#include "check.hpp"
#include "made_levels.hpp"
#include "problems.hpp"

using namespace problems;
using namespace made_levels;

namespace {

Options with_mg(int ranks, const std::string& method = "cg") {
  Options o = options(method, "host", ranks);
  o.precond = "mg";
  return o;
}

Solved solve(const Fields& f, const std::vector<double>& b, const Options& o) {
  Solver solver(System{.grid = f.view(), .A = {.n = f.view().n()}}, o);
  return problems::solve(solver, b);
}

Solved solve(const CsrView& A, const Fields& f, const std::vector<double>& b, Options o) {
  o.grid = std::to_string(f.cells[0]) + "," + std::to_string(f.cells[1]) + "," + std::to_string(f.cells[2]);
  return problems::solve(A, b, o);
}

}  // namespace

TEST("fields: rows that are made of a grid's fields have an entry for each face, and are counted so") {
  NOTE(fresh::said());
  fresh::Random random(911);
  for (int trial = 0; trial < 20; trial++) {
    const Extents cells{random.whole(1, 6), random.whole(1, 6), random.whole(1, 6)};
    const Fields f = fields::random(cells, wanted(trial, random), random);
    const LargeCsr A = rows_of(f.view());
    NOTE(shown(cells));
    i64 faces = 0;
    for (std::size_t d = 0; d < 3; d++) faces += A.n / cells[d] * (cells[d] - 1);
    CHECK(A.view().nnz() == A.n + 2 * faces);
    validate(A.view());
    CHECK(has_equal_mirrors(A.view()));
    const i64 layer = cells[0] * cells[1], first = layer * random.whole(0, cells[2] - 1), rows = A.n - first;
    CHECK(f.view().entries(first, rows) == A.view().nnz() - A.view().begin(first));
    for (i64 row = 0; row < A.n; row++)
      for (i64 k = A.view().begin(row); k < A.view().begin(row + 1); k++) {
        const i64 column = A.indices[std::size_t(k)], low = std::min(row, column), by = std::abs(row - column);
        const std::size_t d = by == layer && cells[2] > 1 ? 2 : by == cells[0] && cells[1] > 1 ? 1 : 0;
        CHECK(A.values[std::size_t(k)] == (by == 0 ? f.diagonal : f.ahead[d])[std::size_t(low)]);
      }
  }
}

TEST("fields: levels that are made have the bits of those of rows, with walls, solids and contrast") {
  NOTE(fresh::said());
  fresh::Random random(912);
  for (int trial = 0; trial < 6; trial++) {
    const Extents cells{random.whole(31, 40), random.whole(31, 40), random.whole(35, 45)};
    const Fields f = fields::random(cells, wanted(trial, random), random);
    const LargeCsr A = rows_of(f.view());
    for (int ranks : {1, 3}) {
      NOTE(shown(cells), ", trial ", trial, ", ", ranks, " ranks");
      CHECK(check_same_levels(levels_of(f.view(), ranks), levels_of(A.view(), cells, ranks)) == 1);
    }
  }
}

TEST("fields: so have several levels that stay where they are made, and those of planes and lines") {
  NOTE(fresh::said());
  fresh::Random random(913);
  for (const Extents& cells : {Extents{67, 65, 70}, Extents{401, 403, 1}, Extents{1, 700, 301}, Extents{70'001, 1, 1}}) {
    const Fields f = fields::random(cells, {.digits = 3, .solid = 0.05}, random);
    NOTE(shown(cells));
    const int made = check_same_levels(levels_of(f.view(), 1), levels_of(rows_of(f.view()).view(), cells, 1));
    CHECK(made >= 2);
  }
}

TEST("fields: a solver has the bits of one of rows, on any ranks") {
  NOTE(fresh::said());
  fresh::Random random(914);
  const Extents cells{random.whole(30, 36), random.whole(33, 36), random.whole(35, 40)};
  const Fields f = fields::random(cells, {.digits = 3, .solid = 0.1}, random);
  const LargeCsr A = rows_of(f.view());
  const auto b = random.normals(A.n);
  for (int ranks : {1, 2, 3})
    for (const char* storage : {"auto", "dia", "symdia"}) {
      Options o = with_mg(ranks);
      o.storage = storage;
      const Solved by_fields = solve(f, b, o), by_rows = solve(A.view(), f, b, o);
      NOTE(shown(cells), ", ", ranks, " ranks, storage ", storage, ": ", by_fields.report.iterations, " iterations");
      CHECK(by_fields.report.status == Status::converged);
      CHECK(by_fields.report.iterations == by_rows.report.iterations);
      CHECK(by_fields.x == by_rows.x);
    }
}

TEST("fields: what wants rows gets them") {
  NOTE(fresh::said());
  fresh::Random random(915);
  const Extents large{33, 32, 36}, thin{2, 200, 100}, small{9, 8, 7};
  for (const Extents& cells : {large, thin, small}) {
    const Fields f = fields::random(cells, {.digits = 2}, random);
    const LargeCsr A = rows_of(f.view());
    const auto b = random.normals(A.n);
    for (int kind = 0; kind < 4; kind++) {
      Options o = with_mg(2);
      if (kind == 1) o.precond = "jacobi";
      if (kind == 2) o.cycle_precision = "single";
      if (kind == 3) o.smoother = "sor";
      const Solved by_fields = solve(f, b, o), by_rows = solve(A.view(), f, b, o);
      NOTE(shown(cells), ", kind ", kind);
      CHECK(by_fields.report.status == Status::converged);
      CHECK(by_fields.x == by_rows.x);
    }
  }
}

TEST("fields: bad ones are refused with a sentence, and there are no new values of rows") {
  fresh::Random random(916);
  const Extents cells{33, 32, 36};
  const Fields good = fields::random(cells, {}, random);
  const auto b = random.normals(good.view().n());
  Fields f = good;
  f.diagonal[777] = 0;
  CHECK_THROWS(solve(f, b, with_mg(1)), Error, "row 777 of the grid's matrix has a diagonal that is not positive");
  f = good;
  f.ahead[1][778] = std::nan("");
  CHECK_THROWS(solve(f, b, with_mg(1)), Error, "row 778 of the grid's matrix holds a NaN or Inf");
  Options o = with_mg(1);
  o.grid = "36,32,33";
  CHECK_THROWS(solve(good, b, o), Error, "and the matrix is of a grid of 33 x 32 x 36 cells");
  Solver solver(System{.grid = good.view(), .A = {.n = good.view().n()}}, with_mg(1));
  CHECK_THROWS(solver.update_values(good.diagonal.data()), Error, "given by the fields of a grid");
}

TEST("levels of cells that are coupled through faces alone have the bits of any neighbours'") {
  NOTE(fresh::said());
  fresh::Random random(917);
  for (int trial = 0; trial < 12; trial++) {
    const Extents cells{random.whole(3, 17), random.whole(3, 17), random.whole(5, 17)};
    const Fields f = fields::random(cells, wanted(trial, random), random);
    const LargeCsr A = rows_of(f.view());
    // With a zero across an edge nobody knows that there are seven entries at most.
    CsrMatrix more{.n = A.n, .indptr = {0}, .indices = {}, .values = {}};
    for (i64 row = 0; row < A.n; row++) {
      const auto begin = A.view().begin(row), end = A.view().begin(row + 1);
      for (i64 k = begin; k < end; k++) {
        if (row == 0 && A.indices[std::size_t(k)] == i32(cells[0]))
          more.indices.push_back(i32(cells[0])), more.values.push_back(A.values[std::size_t(k)]),
              more.indices.push_back(i32(cells[0]) + 1), more.values.push_back(0);
        else
          more.indices.push_back(A.indices[std::size_t(k)]), more.values.push_back(A.values[std::size_t(k)]);
      }
      more.indptr.push_back(i64(more.indices.size()));
    }
    const GridLevels fast = levels_of(A.view(), cells, 1), any = levels_of(more.view(), cells, 1);
    NOTE(shown(cells), ", trial ", trial);
    CHECK(fast.level(0).is_cross);
    CHECK(!any.level(0).is_cross);
    for (int l = 1; l <= fast.last_grid(); l++) {
      check_same_rows(fast.level(l).A.view(), any.level(l).A.view());
      const std::size_t bytes = sizeof(CellWeights) * std::size_t(fast.level(l - 1).partition.n);
      CHECK(same_bits(fast.level(l).restriction(0), any.level(l).restriction(0), bytes));
      CHECK(same_bits(fast.level(l).interpolation(0), any.level(l).interpolation(0), bytes));
    }
  }
}
