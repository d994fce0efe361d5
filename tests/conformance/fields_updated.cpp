// New fields of a grid's matrix: levels and products are made again where they lie, with the bits that new values of rows give.
#include <cmath>
#include <functional>

#include "check.hpp"
#include "made_levels.hpp"
#include "problems.hpp"

using namespace problems;
using namespace made_levels;

namespace {

using Change = std::function<void(Options&)>;

Options with_mg(int ranks, const Change& change = {}) {
  Options o = options("cg", "host", ranks);
  o.precond = "mg";
  if (change) change(o);
  return o;
}

Solver solver_of(const Fields& f, const Options& o) { return Solver(System{.grid = f.view(), .A = {.n = f.view().n()}}, o); }

Solver solver_of(const CsrView& A, const Extents& cells, Options o) {
  o.grid = std::to_string(cells[0]) + "," + std::to_string(cells[1]) + "," + std::to_string(cells[2]);
  return Solver(A, o);
}

/// Solves with fields that come one after another, and with rows of them, and compares.
void check_steps(const std::vector<Fields>& steps, const Options& o, fresh::Random& random) {
  const Extents& cells = steps.front().cells;
  std::vector<LargeCsr> rows;
  for (const Fields& f : steps) rows.push_back(rows_of(f.view()));
  Solver by_fields = solver_of(steps.front(), o), by_rows = solver_of(rows.front().view(), cells, o);
  for (std::size_t k = 0; k < steps.size(); k++) {
    if (k > 0) by_fields.update_values(steps[k].view()), by_rows.update_values(rows[k].values.data());
    const auto b = random.normals(rows[k].n);
    const Solved here = problems::solve(by_fields, b), there = problems::solve(by_rows, b);
    NOTE("step ", k, ": ", here.report.iterations, " iterations");
    CHECK(here.report.status == Status::converged);
    CHECK(here.report.iterations == there.report.iterations);
    CHECK(here.x == there.x);
  }
}

}  // namespace

TEST("new fields: levels have the bits of those of rows that have new values, aggregates as they were") {
  NOTE(fresh::said());
  fresh::Random random(931);
  for (int trial = 0; trial < 6; trial++) {
    const Extents cells{random.whole(31, 47), random.whole(31, 43), random.whole(37, 45)};
    const Fields first = fields::random(cells, wanted(trial, random), random);
    const LargeCsr A = rows_of(first.view());
    for (const auto& [ranks, makers] : {std::pair(1, 1), {3, 1}, {3, 3}}) {
      GridLevels made = levels_of(first.view(), ranks, makers), of_rows = levels_of(A.view(), cells, ranks);
      for (int step = 1; step < 4; step++) {
        const Fields next = fields::random(cells, wanted(trial + step, random), random);
        const LargeCsr B = rows_of(next.view());
        made.release();
        const auto slabs = slabs_of(next.view(), makers);
        made.update(slabs);
        of_rows.update(B.view());
        NOTE(shown(cells), ", trial ", trial, ", ", ranks, " ranks, step ", step);
        CHECK(check_same_levels(made, of_rows) >= 1);
        CHECK(made.fits() == of_rows.fits());
        CHECK(slabs->pieces() == i64(made.level(0).made.slabs.size()));
      }
    }
  }
}

TEST("new fields: all levels that stay where they are made lie in one piece of memory, whatever the grid") {
  NOTE(fresh::said());
  fresh::Random random(935);
  for (const Extents& cells :
       {Extents{33, 32, 37}, Extents{67, 71, 73}, Extents{401, 403, 1}, Extents{1, 700, 301}, Extents{70'001, 1, 1}}) {
    const Fields f = fields::random(cells, {.digits = 2, .solid = 0.1}, random);
    const auto slabs = slabs_of(f.view());
    const auto strengths = slabs->strengths();
    CHECK(slabs->pieces() == 1);
    const Tiling layers = grid_layers(strengths, cells, 1, level_rows_of_cpus);
    const GridLevels levels(slabs, strengths, partition_in_layers(f.view().n(), layers, 1), level_rows_of_cpus);
    NOTE(shown(cells), ", ", levels.count(), " levels");
    CHECK(slabs->pieces() == 2);
  }
}

TEST("new fields: solves have the bits of rows with new values, where levels are made and where rows are") {
  NOTE(fresh::said());
  fresh::Random random(932);
  const Extents large{random.whole(31, 37), random.whole(31, 37), random.whole(37, 41)}, small{11, 13, 7}, thin{2, 67, 31};
  const std::pair<Extents, Change> kinds[] = {{large, {}},
                                              {large, [](Options& o) { o.cycle = "w"; }},
                                              {large, [](Options& o) { o.storage = "dia"; }},
                                              {large, [](Options& o) { o.storage = "csr"; }},
                                              {large, [](Options& o) { o.cycle_precision = "single"; }},
                                              {large, [](Options& o) { o.smoother = "sor"; }},
                                              {large, [](Options& o) { o.precond = "jacobi"; }},
                                              {small, {}},
                                              {thin, {}}};
  int kind = 0;
  for (const auto& [cells, change] : kinds) {
    std::vector<Fields> steps;
    for (int k = 0; k < 3; k++) steps.push_back(fields::random(cells, {.digits = 2.5, .solid = 0.05 * k}, random));
    for (int ranks : {1, 3}) {
      NOTE(shown(cells), ", kind ", kind, ", ", ranks, " ranks");
      check_steps(steps, with_mg(ranks, change), random);
    }
    kind++;
  }
}

TEST("new fields: where phases come, all is set up anew, and solves take what they take there") {
  NOTE(fresh::said());
  fresh::Random random(933);
  const Extents cells{random.whole(31, 37), random.whole(31, 37), random.whole(37, 41)};
  const Fields even = fields::random(cells, {}, random), phases = fields::random(cells, {.digits = 5}, random);
  check_steps({even, phases, even}, with_mg(2), random);
  Solver updated = solver_of(even, with_mg(1)), fresh_one = solver_of(phases, with_mg(1));
  updated.update_values(phases.view());
  const auto b = random.normals(even.view().n());
  const Solved here = problems::solve(updated, b), there = problems::solve(fresh_one, b);
  CHECK(here.report.iterations == there.report.iterations);
  CHECK(here.x == there.x);
}

TEST("new fields that are refused change nothing") {
  NOTE(fresh::said());
  fresh::Random random(934);
  const Extents cells{33, 32, 37};
  const Fields good = fields::random(cells, {.digits = 2}, random);
  for (const Change& change : {Change{}, Change{[](Options& o) { o.precond = "jacobi"; }}}) {
    Fields given = good;
    Solver solver = solver_of(given, with_mg(2, change));
    const auto b = random.normals(good.view().n());
    const Solved before = problems::solve(solver, b);
    for (double& d : given.diagonal) d = -1;  // they may change after a setup
    Fields bad = good;
    bad.ahead[2][779] = std::nan("");
    CHECK_THROWS(solver.update_values(bad.view()), Error, "NaN or Inf");
    bad = good;
    bad.diagonal[780] = 0;
    CHECK_THROWS(solver.update_values(bad.view()), Error, "780");
    const Fields other = fields::random({33, 37, 32}, {}, random);
    CHECK_THROWS(solver.update_values(other.view()), Error, "the matrix is of a grid of 33 x 32 x 37 cells");
    GridMatrix missing = good.view();
    missing.ahead[1] = nullptr;
    CHECK_THROWS(solver.update_values(missing), Error, "needs the entries between cells in y");
    CHECK(problems::solve(solver, b).x == before.x);
    solver.update_values(good.view());
    CHECK(problems::solve(solver, b).x == before.x);
  }
  const LargeCsr A = rows_of(good.view());
  Solver by_rows = solver_of(A.view(), cells, with_mg(1));
  CHECK_THROWS(by_rows.update_values(good.view()), Error, "not given by the fields of a grid");
}
