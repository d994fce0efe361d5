// Option smoother of precond mg: iterations that hardly grow with the grid, on awkward ones, too; M symmetric and positive; the
// bits of other engines; new values; halos that are counted; what cannot be is refused.
#include <array>
#include <cmath>

#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/grid_levels.hpp"

using namespace cell_boxes;
using namespace cycles;
using namespace problems;

namespace {

/// Options of a smoother, and what tests allow it.
struct Kind {
  const char* smoother;
  Smoothing smoothing;
};
constexpr std::array kinds{Kind{"sor", Smoothing::sor}, Kind{"block-ilu", Smoothing::block_ilu}};

Options with(const Kind& kind, const Extents& g, int ranks = 1, const std::string& method = "cg") {
  Options o = options(method, "host", ranks);
  o.precond = "mg", o.smoother = kind.smoother;
  o.grid = std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]);
  return o;
}

CsrMatrix pressure(const Extents& g, double contrast = 1, int stencil = 7) {
  return poisson(g[0], g[1], g[2], stencil, contrast);
}

/// Iterations of a solve that is checked, whose bits are those of its repetition and of the model, and whose memory is
/// foretold.
int checked_iterations(const CsrMatrix& A, const std::vector<double>& b, const Options& o) {
  Solver solver(A.view(), o);
  const Solved first = solve(solver, b), again = solve(solver, b);
  CHECK(first.report.status == Status::converged);
  CHECK(relative_residual(A, first.x, b) <= o.rtol * (1 + 1e-6));
  CHECK(again.x == first.x);
  for (int seed : {0, 3}) {
    Options model = o;
    model.engine = "model", model.seed = seed;
    CHECK(solve(A.view(), b, model).x == first.x);
  }
  if (o.solver != "cbcg") CHECK(estimate_memory({.A = A.view()}, o, o.ranks, false) == solver.memory());
  return first.report.iterations;
}

std::shared_ptr<GridLevels> levels_of(const Kind& kind, const CsrMatrix& A, const Extents& grid, int ranks, i64 alone = 0) {
  const Partition first = partition_in_layers(A.n, grid_layers(A.view(), grid, ranks, alone), ranks);
  return std::make_shared<GridLevels>(A.view(), grid, first, alone, CyclePrecision::full, kind.smoothing);
}

}  // namespace

TEST("smoothers: few iterations of cg, whatever the size, and about as many on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(901);
  for (const Kind& kind : kinds)
    for (i64 n : {16, 32, 48})
      for (double contrast : {1.0, 1e3}) {
        const Extents grid{n, n, n};
        const CsrMatrix A = pressure(grid, contrast);
        const auto b = random.normals(A.n);
        int alone = 0;
        for (int ranks : {1, 2, 3}) {
          const int found = iterations(A, b, with(kind, grid, ranks));
          NOTE(kind.smoother, ", ", n, "^3, contrast ", contrast, ", ", ranks, " ranks: ", found, " iterations");
          CHECK(found <= (contrast > 1 ? 15 : 12));
          if (ranks == 1) alone = found;
          CHECK(std::abs(found - alone) <= 1);
        }
      }
}

TEST("smoothers: cycles F and W, and levels on fewer ranks") {
  NOTE(fresh::said());
  fresh::Random random(902);
  for (const Kind& kind : kinds)
    for (const Extents& grid : {Extents{24, 16, 33}, Extents{9, 7, 23}}) {
      const CsrMatrix A = pressure(grid, 10);
      const auto b = random.normals(A.n);
      for (int ranks : {1, 2, 4})
        for (int level_rows : {0, 60, 16384})
          for (const char* cycle : {"v", "f", "w"}) {
            Options o = with(kind, grid, ranks, "fcg");
            o.cycle = cycle, o.level_rows = level_rows;
            const int found = checked_iterations(A, b, o);
            NOTE(kind.smoother, ", ", shown(grid), ", ", ranks, " ranks, ", level_rows, " rows on one, ", cycle, ": ", found);
            CHECK(found <= 12);
          }
    }
}

TEST("smoothers: awkward grids, solids, closed and periodic boxes are solved") {
  NOTE(fresh::said());
  fresh::Random random(903);
  for (const Kind& kind : kinds)
    for (const Extents& grid : {Extents{98, 1, 1}, Extents{31, 29, 1}, Extents{13, 11, 17}, Extents{2, 2, 64},
                                Extents{5, 40, 23}, Extents{12, 10, 24}})
      for (int ranks : {1, 2, 3})
        for (double solids : {0.0, 0.2}) {
          NOTE(kind.smoother, ", ", shown(grid), ", ", ranks, " ranks, solids ", solids);
          const CsrMatrix A = with_solids(random, pressure(grid, 100), solids);
          checked_iterations(A, random.normals(A.n), with(kind, grid, ranks));
          Box box{.cells = grid, .is_open = false, .contrast = 10};
          for (std::size_t d = 0; d < 3; d++)
            box.wraps[d] = grid[d] > 2 && (grid[d] % 2 == 0 || kind.smoothing != Smoothing::sor);
          const CsrMatrix closed = matrix_of(box);
          Options o = with(kind, grid, ranks);
          o.nullspace = "constant";
          const int found = checked_iterations(closed, without_mean(random.normals(closed.n)), o);
          NOTE("closed: ", found);
          CHECK(found <= 20);
        }
}

TEST("smoothers: 27 points by tiles, and a grid whose tiles are cut") {
  NOTE(fresh::said());
  fresh::Random random(907);
  for (const Extents& grid : {Extents{20, 24, 28}, Extents{11, 9, 23}})
    for (int ranks : {1, 2, 3}) {
      const CsrMatrix A = pressure(grid, 1, 27);
      const int found = checked_iterations(A, random.normals(A.n), with(kinds[1], grid, ranks));
      NOTE(shown(grid), ", ", ranks, " ranks: ", found);
      CHECK(found <= 12);
    }
}

TEST("smoothers: below a level of two colours there may be periodic ones that have not, and are smoothed by polynomials") {
  const Extents grid{12, 12, 24};
  const CsrMatrix A = matrix_of({.cells = grid, .wraps = {true, true, false}});
  const auto levels = levels_of(kinds[0], A, grid, 2);
  REQUIRE(levels->count() >= 3);
  CHECK(levels->level(0).colours == 2);
  CHECK(levels->level(1).colours == 2);
  const Extents odd{24, 6, 48};  // 12 x 3 x 24 below
  const CsrMatrix B = matrix_of({.cells = odd, .wraps = {true, true, false}});
  const auto mixed = levels_of(kinds[0], B, odd, 2);
  CHECK(mixed->level(0).colours == 2);
  CHECK(mixed->level(1).colours == 0);
  fresh::Random random(908);
  const std::vector<std::vector<double>> given{random.normals(B.n), random.normals(B.n)};
  CHECK(is_symmetric_and_positive(given, applied(B, given, mixed, Cycle::v)));
}

TEST("smoothers: M is symmetric and positive") {
  NOTE(fresh::said());
  fresh::Random random(904);
  for (const Kind& kind : kinds)
    for (int ranks : {1, 3})
      for (double contrast : {1.0, 1e6}) {
        NOTE(kind.smoother, ", ", ranks, " ranks, contrast ", contrast);
        const Extents grid{12, 9, 21};
        const CsrMatrix A = with_solids(random, pressure(grid, contrast), 0.1);
        const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
        for (Cycle cycle : {Cycle::v, Cycle::w})
          CHECK(is_symmetric_and_positive(given, applied(A, given, levels_of(kind, A, grid, ranks), cycle)));
      }
}

TEST("smoothers: a tile whose pivots are refused is smoothed by its diagonal") {
  NOTE(fresh::said());
  fresh::Random random(909);
  const Extents grid{8, 8, 16};
  CsrMatrix A = pressure(grid);  // positive definite, and not an M-matrix: signs of half of the unknowns are turned
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if ((i % 3 == 0) != (A.indices[std::size_t(k)] % 3 == 0)) A.values[std::size_t(k)] *= -1;
  const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
  CHECK(is_symmetric_and_positive(given, applied(A, given, levels_of(kinds[1], A, grid, 2), Cycle::v)));
}

TEST("smoothers: new values are taken") {
  NOTE(fresh::said());
  fresh::Random random(905);
  const Extents grid{10, 9, 16};
  const CsrMatrix first = pressure(grid, 10), second = pressure(grid, 50);
  const auto b = random.normals(first.n);
  for (const Kind& kind : kinds)
    for (int ranks : {1, 2}) {
      NOTE(kind.smoother, ", ", ranks, " ranks");
      check_new_values(first, second, b, with(kind, grid, ranks));
    }
}

TEST("smoothers: every method that takes any preconditioner") {
  NOTE(fresh::said());
  fresh::Random random(906);
  const Extents grid{9, 8, 12};
  const CsrMatrix A = pressure(grid, 100);
  const auto b = random.normals(A.n);
  for (const Kind& kind : kinds)
    for (auto& m : methods()) {
      if (m.complex == Factors::of_numbers || !m.any_preconditioner) continue;
      NOTE(kind.smoother, ", ", m.name);
      for (int ranks : {1, 3}) checked_iterations(A, b, with(kind, grid, ranks, m.name));
    }
}

TEST("smoothers: halos of a level and a V-cycle: six of two colours, four of the others") {
  const Extents grid{16, 16, 32};  // of which ranks pair layers on all levels
  const CsrMatrix A = pressure(grid);
  auto pushes_of = [&](const std::shared_ptr<GridLevels>& levels) {
    std::size_t pushes = 0;
    host::HostEngine engine({.ranks = 2});
    engine.run([&](Rank& rank) {
      const CsrOperator matrix(rank, A.view(), levels->partition(0));
      const Multigrid M(rank, matrix, levels, Cycle::v);
      const Vec r = M.operand(rank, "r"), z = M.result(rank, "z");
      const Recorded body = rank.record([&] { M.apply(rank, r, z); });
      if (rank.id() > 0) return;
      for (const Command& c : body.recording().commands) pushes += c.pushes.size();
    });
    return pushes;
  };
  for (const Kind& kind : kinds) {
    const auto levels = levels_of(kind, A, grid, 2);
    const std::size_t halos = kind.smoothing == Smoothing::sor ? 6 : 4, of_last = 1;  // its right-hand side
    CHECK(pushes_of(levels) == halos * std::size_t(levels->count() - 1) + of_last);
  }
}

TEST("smoothers: cells that are coupled across corners, but not across edges, have eight colours, not two") {
  NOTE(fresh::said());
  fresh::Random random(881);
  const Extents cells{9, 8, 10};
  CsrMatrix A;
  A.n = 9 * 8 * 10, A.indptr = {0};
  for (i64 row = 0; row < A.n; row++) {
    const Extents at = place(cells, row);
    for (int n = 0; n < GridNeighbours::count; n++) {
      const Extents by = GridNeighbours::step(n);
      const Extents to{at[0] + by[0], at[1] + by[1], at[2] + by[2]};
      const i64 apart = std::abs(by[0]) + std::abs(by[1]) + std::abs(by[2]);
      bool inside = apart != 2;
      for (std::size_t d = 0; d < 3; d++) inside = inside && to[d] >= 0 && to[d] < cells[d];
      if (!inside) continue;
      A.indices.push_back(i32(to[0] + cells[0] * (to[1] + cells[1] * to[2])));
      A.values.push_back(apart == 0 ? 10.0 : apart == 1 ? -1.0 : -0.5);
    }
    A.indptr.push_back(i64(A.indices.size()));
  }
  Options o = options("cg", "host", 1);
  o.precond = "mg", o.grid = "9,8,10", o.smoother = "sor";
  CHECK(iterations(A, random.normals(A.n), o) <= 12);
}

TEST("smoothers: what cannot be is refused") {
  const Extents grid{8, 8, 9};
  const CsrMatrix A = pressure(grid), around = matrix_of({.cells = grid, .wraps = {false, false, true}});
  CHECK_THROWS(Solver(around.view(), with(kinds[0], grid, 2)), Error,
               "cells 0 and 512, which are coupled, are not kept apart by them: use smoother block-ilu or chebyshev");
  for (const Kind& kind : kinds) {
    const std::string said = std::string("smoother '") + kind.smoother;
    Options o = with(kind, grid);
    o.cycle_precision = "single";
    CHECK_THROWS(Solver(A.view(), o), Error, said + "' computes in double, and cycle_precision is 'single'");
    o = with(kind, grid);
    o.precond = "amg";
    CHECK_THROWS(Solver(A.view(), o), Error, said + "' is for precond mg, whose levels are grids");
    o.precond = "jacobi";
    CHECK(solve(A.view(), std::vector<double>(std::size_t(A.n), 1.0), o).report.status == Status::converged);
  }
}
