// Precond mg for 27 points on stretched cells: iterations are about those of cubes, whichever edges are long, of any sizes, on
// any ranks, with coefficients drawn at random, around obstacles, in periodic and in closed boxes.
#include <algorithm>
#include <cmath>

#include "brick_boxes.hpp"
#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"

using namespace brick_boxes;
using namespace cycles;
using namespace problems;

namespace {

using Edges = std::array<double, 3>;
constexpr std::array<Edges, 9> stretched{Edges{1, 1, 10},  {1, 10, 1},  {10, 1, 1},    {1, 10, 10}, {10, 10, 1},
                                         Edges{1, 1, 100}, {100, 1, 1}, {1, 100, 100}, {1, 4, 16}};

std::string shown(const Edges& edges) {
  return std::to_string(edges[0]) + " x " + std::to_string(edges[1]) + " x " + std::to_string(edges[2]);
}

Options with(const Extents& g, int ranks, bool is_closed = false) {
  Options o = options("cg", "host", ranks);
  o.precond = "mg";
  o.grid = std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]);
  if (is_closed) o.nullspace = "constant";
  return o;
}

std::string steps_of(const Bricks& box) {
  const CsrMatrix A = matrix_of(box);
  std::string text;
  for (const GridStep& level : grid_steps(coupling_strengths(A.view(), box.nodes), box.nodes, layers_of(A, box.nodes, 1))) {
    for (i64 step : level.step) text += std::to_string(step);
    text += ' ';
  }
  return text;
}

/// How far entries are from their mirrors, beside the largest one of all; 1 where one has none.
double asymmetry(const CsrView& A) {
  double most = 0, apart = 0;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      const i64 j = A.indices[k];
      const i32 *const begin = A.indices + A.begin(j), *const end = A.indices + A.begin(j + 1);
      const i32* const mirror = std::find(begin, end, i32(i));
      if (mirror == end) return 1;
      most = std::max(most, std::abs(A.values[k]));
      apart = std::max(apart, std::abs(A.values[k] - A.values[mirror - A.indices]));
    }
  return apart / most;
}

/// Coefficients from 1 to that.
std::function<double()> drawn(fresh::Random& random, double most) {
  return [&random, most] { return std::exp(random.real(0, std::log(most))); };
}

}  // namespace

TEST("bricks: iterations are about those of cubes, whichever edges are long") {
  NOTE(fresh::said());
  fresh::Random random(871);
  const Extents nodes{24, 24, 24};
  const auto b = cell_boxes::without_mean(random.normals(24 * 24 * 24));
  const int cubes = iterations(matrix_of({.nodes = nodes}), b, with(nodes, 1));
  CHECK(cubes <= 9);
  for (const Edges& edges : stretched)
    for (bool is_open : {true, false}) {
      const int found =
          iterations(matrix_of({.nodes = nodes, .edges = edges, .is_open = is_open}), b, with(nodes, 2, !is_open));
      NOTE(shown(edges), is_open ? ": " : ", closed: ", found, " iterations, and ", cubes, " of cubes");
      CHECK(found <= cubes + 4);
    }
}

TEST("bricks: iterations hardly grow with the grid") {
  NOTE(fresh::said());
  fresh::Random random(872);
  for (const Edges& edges : {Edges{1, 1, 10}, Edges{1, 10, 10}, Edges{100, 1, 1}}) {
    std::vector<int> found;
    for (i64 n : {16, 32, 48}) {
      const Extents nodes{n, n, n};
      found.push_back(iterations(matrix_of({.nodes = nodes, .edges = edges}), random.normals(n * n * n), with(nodes, 2)));
    }
    NOTE(shown(edges), ": ", found[0], ", ", found[1], ", ", found[2]);
    CHECK(found[2] <= 12);
    CHECK(found[2] <= found[0] + 3);
  }
}

TEST("bricks: coefficients drawn at random, odd and prime sizes, as many iterations on any ranks, bits of the model") {
  NOTE(fresh::said());
  fresh::Random random(873);
  for (const Edges& edges :
       {Edges{1, 1, 1}, Edges{1, 1, 10}, Edges{10, 1, 1}, Edges{1, 10, 10}, Edges{100, 1, 1}, Edges{1, 1, 100}})
    for (bool is_open : {true, false}) {
      const Extents nodes{random.whole(7, 23), 17, random.whole(28, 37)};
      const CsrMatrix A = matrix_of({.nodes = nodes, .edges = edges, .is_open = is_open, .coefficient = drawn(random, 10)});
      const auto b = cell_boxes::without_mean(random.normals(A.n));
      int alone = 0;
      for (int ranks = 1; ranks <= 7; ranks++) {
        Options o = with(nodes, ranks, !is_open);
        const Solved s = problems::solve(A.view(), b, o);
        NOTE(sordino::shown(nodes), " of ", shown(edges), is_open ? ", " : ", closed, ", ranks,
             " ranks: ", s.report.iterations);
        CHECK(s.report.status == Status::converged);
        CHECK(relative_residual(A, s.x, b) <= 1.01e-8);
        CHECK(s.report.iterations <= 16);
        if (ranks == 1) alone = s.report.iterations;
        CHECK(std::abs(s.report.iterations - alone) <= 3);  // ranks of few layers pair other directions first
        o.engine = "model", o.seed = ranks;
        if (ranks < 4) CHECK(problems::solve(A.view(), b, o).x == s.x);
      }
    }
}

TEST("bricks: few strong layers on many ranks, which none can pair") {
  NOTE(fresh::said());
  fresh::Random random(880);
  for (i64 layers : {3, 4, 5, 7}) {
    const Extents nodes{random.whole(15, 19), 17, layers};
    const CsrMatrix A = matrix_of({.nodes = nodes, .edges = {1, 1, 0.2}, .coefficient = drawn(random, 3)});
    const auto b = random.normals(A.n);
    for (int ranks = 1; ranks <= layers; ranks++) {
      const int found = iterations(A, b, with(nodes, ranks));
      NOTE(sordino::shown(nodes), ", ", ranks, " ranks: ", found, " iterations");
      CHECK(found <= 12);
    }
  }
}

TEST("bricks: periodic directions, of odd many nodes, too") {
  NOTE(fresh::said());
  fresh::Random random(874);
  using Wraps = std::array<bool, 3>;
  for (const Extents& nodes : {Extents{16, 12, 24}, Extents{13, 11, 19}})
    for (const Edges& edges : {Edges{1, 1, 1}, Edges{1, 1, 10}, Edges{10, 1, 1}, Edges{1, 10, 10}, Edges{10, 10, 1}})
      for (const Wraps& wraps : {Wraps{true, true, true}, Wraps{true, false, true}, Wraps{false, false, true}})
        for (int ranks : {1, 2, 3}) {
          const Bricks box{.nodes = nodes, .edges = edges, .is_open = false, .wraps = wraps, .coefficient = drawn(random, 10)};
          const CsrMatrix A = matrix_of(box);
          const int found = iterations(A, cell_boxes::without_mean(random.normals(A.n)), with(nodes, ranks, true));
          NOTE(sordino::shown(nodes), " of ", shown(edges), ", wraps ", wraps[0], wraps[1], wraps[2], ", ", ranks,
               " ranks: ", found);
          CHECK(found <= 16);
        }
}

TEST("bricks: around obstacles") {
  NOTE(fresh::said());
  fresh::Random random(875);
  for (const Edges& edges : {Edges{1, 1, 1}, Edges{1, 1, 10}, Edges{10, 1, 1}, Edges{1, 10, 10}})
    for (int ranks : {1, 3}) {
      const Extents nodes{17, 16, 23};
      const auto some = [&] { return random.chance(0.05) ? 0.0 : 1.0; };
      const CsrMatrix A = matrix_of({.nodes = nodes, .edges = edges, .coefficient = some});
      const int found = iterations(A, random.normals(A.n), with(nodes, ranks));
      const CsrMatrix held = with_solids(random, matrix_of({.nodes = nodes, .edges = edges}), 0.1);
      const int beside = iterations(held, random.normals(A.n), with(nodes, ranks));
      NOTE(shown(edges), ", ", ranks, " ranks: ", found, " iterations, ", beside, " where nodes are held");
      CHECK(found <= 14);
      CHECK(beside <= 17);
    }
}

TEST("bricks: locally stretched ones, towards one wall or in all directions") {
  NOTE(fresh::said());
  fresh::Random random(876);
  const Extents nodes{24, 24, 24};
  for (int ranks : {1, 2}) {
    const auto taken = [&](double grading, const std::array<bool, 3>& graded) {
      const CsrMatrix A = matrix_of({.nodes = nodes, .grading = grading, .graded = graded});
      return iterations(A, random.normals(A.n), with(nodes, ranks));
    };
    const int wall = taken(100, {false, false, true}), middle = taken(0.01, {true, false, false}),
              all = taken(20, {true, true, true});
    NOTE(ranks, " ranks: ", wall, " and ", middle, " iterations towards a wall, ", all, " in all directions");
    CHECK(wall <= 15);
    CHECK(middle <= 15);
    CHECK(all <= 28);
  }
}

TEST("bricks: strong directions are paired until all are about equal") {
  const Extents nodes{32, 32, 32};
  CHECK(steps_of({.nodes = nodes}) == "222 222 222 111 ");
  CHECK(steps_of({.nodes = nodes, .edges = {1, 1, 4}}) == "221 221 222 222 111 ");
  CHECK(steps_of({.nodes = nodes, .edges = {8, 1, 1}}) == "122 122 122 222 111 ");
  CHECK(steps_of({.nodes = nodes, .edges = {1, 4, 16}}) == "211 211 221 221 222 111 ");
  CHECK(steps_of({.nodes = nodes, .edges = {1, 100, 100}}).substr(0, 20) == "211 211 211 211 211 ");
}

TEST("bricks: walls that are held far more stiffly than bricks are take no coarse matrix out of the definite ones") {
  NOTE(fresh::said());
  fresh::Random random(877);
  for (double thin : {0.3, 0.05, 0.01})
    for (const Edges& edges : {Edges{1, 1, 1}, Edges{1, 1, 10}, Edges{1, 10, 1}, Edges{1, 1, 0.1}}) {
      const Extents nodes{16, 15, 16};
      const CsrMatrix A = matrix_of({.nodes = nodes, .edges = edges, .thin_walls = {thin, thin, 1}});
      const int found = iterations(A, random.normals(A.n), with(nodes, 2));
      NOTE("walls at ", thin, ", ", shown(edges), ": ", found);
      CHECK(found <= 13);
    }
}

TEST("bricks: M is symmetric and positive where directions wait") {
  NOTE(fresh::said());
  fresh::Random random(878);
  for (const Edges& edges : {Edges{1, 1, 10}, Edges{30, 1, 1}, Edges{1, 10, 10}})
    for (bool wraps : {false, true})
      for (int ranks : {1, 3}) {
        const Extents nodes{11, 9, 21};
        const Bricks box{.nodes = nodes,
                         .edges = edges,
                         .is_open = !wraps,
                         .wraps = {wraps, false, wraps},
                         .coefficient = drawn(random, 100)};
        const CsrMatrix A = with_solids(random, matrix_of(box), 0.05);
        const auto levels = std::make_shared<GridLevels>(A.view(), nodes, layers_of(A, nodes, ranks));
        const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
        NOTE(shown(edges), wraps ? ", periodic, " : ", ", ranks, " ranks");
        for (Cycle cycle : {Cycle::v, Cycle::w}) CHECK(is_symmetric_and_positive(given, applied(A, given, levels, cycle)));
        CHECK(asymmetry(levels->matrix(1)) <= 1e-14);
      }
}

TEST("bricks: new values are taken, and memory is foretold") {
  NOTE(fresh::said());
  fresh::Random random(879);
  const Extents nodes{12, 11, 18};
  const Edges edges{1, 6, 6};
  const CsrMatrix first = matrix_of({.nodes = nodes, .edges = edges, .coefficient = drawn(random, 5)}),
                  second = matrix_of({.nodes = nodes, .edges = edges, .coefficient = drawn(random, 50)});
  const auto b = random.normals(first.n);
  for (int ranks : {1, 2, 3}) {
    NOTE(ranks, " ranks");
    check_new_values(first, second, b, with(nodes, ranks));
    Solver solver(first.view(), with(nodes, ranks));
    CHECK(estimate_memory({.A = first.view()}, with(nodes, ranks), ranks, false) == solver.memory());
  }
}

TEST("bricks: levels of a pattern without couplings across edges do not fit values that have them") {
  const Extents nodes{12, 11, 9};
  const CsrMatrix bricks = matrix_of({.nodes = nodes, .edges = {1, 1, 3}});
  CsrMatrix faces = bricks;  // of 27 entries all but seven are zeros
  for (i64 i = 0; i < faces.n; i++)
    for (i64 k = faces.indptr[std::size_t(i)]; k < faces.indptr[std::size_t(i) + 1]; k++) {
      const Extents from = place(nodes, i), to = place(nodes, faces.indices[std::size_t(k)]);
      const i64 apart = std::abs(to[0] - from[0]) + std::abs(to[1] - from[1]) + std::abs(to[2] - from[2]);
      faces.values[std::size_t(k)] = apart == 0 ? 6.5 : apart == 1 ? -1 : 0;
    }
  GridLevels levels(faces.view(), nodes, layers_of(faces, nodes, 1));
  CHECK(levels.fits());
  levels.update(bricks.view());
  CHECK(!levels.fits());
  levels.update(faces.view());
  CHECK(levels.fits());
}
