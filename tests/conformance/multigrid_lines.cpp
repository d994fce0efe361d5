// Interpolation of precond mg along lines through faces, and what its rows leave a coarse level: that a V-cycle solves by
// itself, that iterations do not grow, whatever the faces, and what a cycle costs.
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

Options with(const Extents& g, const std::string& method, int ranks) {
  Options o = options(method, "host", ranks);
  o.precond = "mg";
  o.grid = std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]);
  return o;
}

/// How many products with matrices a V-cycle records, but the inverse's.
int products_of(const CsrMatrix& A, const Extents& grid) {
  const auto levels = std::make_shared<GridLevels>(A.view(), grid, layers_of(A, grid, 1));
  int products = -1;
  host::HostEngine engine({.ranks = 1});
  engine.run([&](Rank& rank) {
    const CsrOperator matrix(rank, A.view(), levels->partition(0));
    const Multigrid M(rank, matrix, levels, Cycle::v);
    const Vec r = M.operand(rank, "r"), z = M.result(rank, "z");
    const Recorded body = rank.record([&] { M.apply(rank, r, z); });
    for (const Command& c : body.recording().commands) products += c.name == std::string("SpMV");
  });
  CHECK(products % (levels->count() - 1) == 0);
  return products / (levels->count() - 1);
}

/// What a cell's weights add up to, in the units of CellWeights.
int sum_of(const CellWeights& w) { return w.own + w.across[0] + w.across[1] + w.across[2]; }

}  // namespace

TEST("lines: V-cycles solve by themselves, in iterations that do not grow, with 7 and 27 points") {
  NOTE(fresh::said());
  fresh::Random random(861);
  for (int stencil : {7, 27}) {
    std::vector<int> alone, inside;
    for (i64 n : {16, 32, 48}) {
      const CsrMatrix A = poisson(n, n, n, stencil, 1);
      const auto b = random.normals(A.n);
      alone.push_back(iterations(A, b, with({n, n, n}, "richardson", 2)));
      inside.push_back(iterations(A, b, with({n, n, n}, "cg", 2)));
      NOTE(stencil, " points, ", n, "^3: ", alone.back(), " iterations alone, ", inside.back(), " with cg");
    }
    CHECK(alone.back() <= 18);
    CHECK(inside.back() <= 11);
    CHECK(alone.back() <= alone.front() + 4);
    CHECK(inside.back() <= inside.front() + 2);
  }
}

TEST("lines: a thousandfold density takes few iterations more on larger grids") {
  NOTE(fresh::said());
  fresh::Random random(862);
  std::vector<int> found;
  for (i64 n : {24, 48}) {
    const CsrMatrix A = poisson(n, n, n, 7, 1e3);
    found.push_back(iterations(A, random.normals(A.n), with({n, n, n}, "cg", 2)));
  }
  NOTE(found[0], " and ", found[1], " iterations");
  CHECK(found[1] <= 16);
  CHECK(found[1] <= found[0] + 3);
}

TEST("lines: of 27 points a cell takes nothing from an aggregate of another phase, whatever the contrast") {
  NOTE(fresh::said());
  fresh::Random random(865);
  for (double contrast : {1e-6, 1e3, 1e4, 1e5, 1e6}) {
    const Extents cells{random.whole(10, 34), random.whole(10, 34), random.whole(10, 34)};
    const CsrMatrix A = poisson(cells[0], cells[1], cells[2], 27, contrast);
    const auto b = random.normals(A.n);
    for (int ranks : {1, 2}) {
      const int found = iterations(A, b, with(cells, "cg", ranks));
      NOTE(shown(cells), ", contrast ", contrast, ", ", ranks, " ranks: ", found, " iterations");
      CHECK(found <= 13);
    }
  }
}

TEST("lines: boxes of fresh sizes, open, closed or periodic, are solved in as many iterations on any ranks") {
  NOTE(fresh::said());
  fresh::Random random(863);
  for (int trial = 0; trial < 12; trial++) {
    const Extents cells{random.whole(5, 40), random.whole(5, 40), random.whole(8, 40)};
    const bool is_open = trial % 3 == 0, wraps = trial % 3 == 2;
    const CsrMatrix A = matrix_of({.cells = cells, .is_open = is_open, .wraps = {wraps, wraps, wraps}});
    const auto b = without_mean(random.normals(A.n));
    for (int ranks : {1, 2, 3}) {
      Options o = with(cells, "cg", ranks);
      if (!is_open) o.nullspace = "constant";
      const int found = iterations(A, b, o);
      NOTE(shown(cells), is_open ? ", open, " : wraps ? ", periodic, " : ", closed, ", ranks, " ranks: ", found, " iterations");
      CHECK(found <= (wraps ? 17 : 14));  // of odd many cells the last one is alone between others
    }
  }
}

TEST("lines: a coarse level holds a constant as it is in closed boxes, and P^T is P's transpose") {
  NOTE(fresh::said());
  fresh::Random random(864);
  for (bool wraps : {false, true}) {
    const Extents cells{random.whole(3, 20), random.whole(3, 20), random.whole(8, 20)};
    const CsrMatrix A = matrix_of({.cells = cells, .is_open = false, .wraps = {wraps, wraps, wraps}});
    const GridLevels levels(A.view(), cells, layers_of(A, cells, 1));
    const GridLevel& next = levels.level(1);
    i64 given = 0, taken = 0;
    for (i64 row = 0; row < A.n; row++) {
      CHECK(sum_of(next.from_this[std::size_t(row)]) == CellWeights::one);
      given += sum_of(next.from_this[std::size_t(row)]), taken += sum_of(next.to_this[std::size_t(row)]);
    }
    CHECK(given == taken);
  }
}

TEST("lines: a cell at a wall takes the part that lies between the wall and its aggregate's middle") {
  const Extents cells{8, 8, 8};
  const CsrMatrix half = matrix_of({.cells = cells});  // whose walls are half a cell away
  const GridLevels at_half(half.view(), cells, layers_of(half, cells, 1));
  const CellWeights face = at_half.level(1).from_this[3 + 8 * 3];  // at the face z = 0, between the others
  CHECK(face.own == 0);                        // a quarter each goes across in x and y, and half is the wall's
  const CsrMatrix A = poisson(8, 8, 8, 7, 1);  // whose walls are a cell away
  const GridLevels levels(A.view(), cells, layers_of(A, cells, 1));
  CHECK_NEAR(double(levels.level(1).from_this[3 + 8 * 3].own) / CellWeights::one, 0.5 - 1.0 / 3, 1e-4);
  // A wall and half an aggregate in series.
  const CsrView coarse = levels.matrix(1);
  double sum = 0;
  for (i64 k = coarse.begin(1 + 4 * 1); k < coarse.begin(1 + 4 * 1 + 1); k++) sum += coarse.values[k];
  CHECK_NEAR(sum, 4 * 2.0 / 3, 1e-12);
}

TEST("lines: a cycle has two products a level, and four where phases meet") {
  const Extents grid{32, 32, 32};
  CHECK(products_of(poisson(32, 32, 32, 7, 1), grid) == 2);
  CHECK(products_of(poisson(32, 32, 32, 7, 1e3), grid) == 4);
  CHECK(products_of(poisson(32, 32, 32, 27, 1), grid) == 2);
}
