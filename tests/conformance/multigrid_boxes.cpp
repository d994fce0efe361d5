// Precond mg on boxes of stretched cells: iterations are about those of cubes.
#include <cmath>
#include <map>

#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"
#include "sordino/precond/tiling.hpp"

using namespace cycles;
using namespace problems;

namespace {

/// What a box of cells is like.
struct Box {
  Extents cells;
  std::array<double, 3> edges = {1, 1, 1};
  bool is_open = true;  // zero values on its faces, or zero flux
  double contrast = 1;  // of layers across z, four cells deep
};

/// -div(k grad u) by finite volumes: a face weighs its area over the distance.
CsrMatrix matrix_of(const Box& box) {
  const Extents& cells = box.cells;
  CsrMatrix A;
  A.n = cells[0] * cells[1] * cells[2];
  A.indptr = {0};
  auto k_of = [&](i64 z) { return z / 4 % 2 ? box.contrast : 1.0; };
  for (i64 row = 0; row < A.n; row++) {
    const Extents at{row % cells[0], row / cells[0] % cells[1], row / (cells[0] * cells[1])};
    std::map<i64, double> entries;
    for (std::size_t d = 0; d < 3; d++)
      for (i64 side : {-1, 1}) {
        Extents to = at;
        to[d] += side;
        const bool inside = to[d] >= 0 && to[d] < cells[d];
        if (!inside && !box.is_open) continue;
        const double near = k_of(at[2]), far = inside ? k_of(to[2]) : near,
                     face = box.edges[(d + 1) % 3] * box.edges[(d + 2) % 3] / box.edges[d] * 2 / (1 / near + 1 / far);
        entries[row] += inside ? face : 2 * face;
        if (inside) entries[to[0] + cells[0] * (to[1] + cells[1] * to[2])] -= face;
      }
    for (auto [column, value] : entries) A.indices.push_back(i32(column)), A.values.push_back(value);
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

/// Iterations to 1e-8, which are checked.
int iterations(const Box& box, const std::vector<double>& b, int ranks) {
  Options o = options("cg", "host", ranks);
  o.precond = "mg";
  o.grid = std::to_string(box.cells[0]) + "," + std::to_string(box.cells[1]) + "," + std::to_string(box.cells[2]);
  if (!box.is_open) o.nullspace = "constant";
  const CsrMatrix A = matrix_of(box);
  const Solved s = problems::solve(A.view(), b, o);
  CHECK(s.report.status == Status::converged);
  CHECK(relative_residual(A, s.x, b) <= 1.01e-8);
  return s.report.iterations;
}

std::vector<double> without_mean(std::vector<double> b) {
  double mean = 0;
  for (double v : b) mean += v / double(b.size());
  for (double& v : b) v -= mean;
  return b;
}

/// How many cells of a level make one of the next, as text: "221" of pairs in x and y.
std::string steps_of(const Box& box, int ranks) {
  const CsrMatrix A = matrix_of(box);
  Tiling layers{.grid = box.cells, .tile = {1, 1, 1}};
  layers.tile[std::size_t(layers.last())] = GridLevels::depth(box.cells, ranks);
  std::string text;
  for (const GridStep& level :
       grid_steps(coupling_strengths(A.view(), box.cells), box.cells, partition_in_layers(A.n, layers, ranks))) {
    for (i64 step : level.step) text += std::to_string(step);
    text += ' ';
  }
  return text;
}

using Edges = std::array<double, 3>;

}  // namespace

TEST("stretched cells: iterations are about those of cubes, whichever edges are long") {
  NOTE(fresh::said());
  fresh::Random random(851);
  for (i64 n : {32, 48, 64}) {
    const auto b = without_mean(random.normals(n * n * n));
    const int cubes = iterations({.cells = {n, n, n}}, b, 1);
    for (const Edges& edges : {Edges{1, 1, 4}, {1, 1, 8}, {8, 1, 1}, {1, 8, 8}, {1, 4, 16}, {1, 1, 1.6}, {1, 1, 100}})
      for (bool is_open : {true, false})
        for (int ranks : {1, 2}) {
          if (n > 32 && (edges[2] != 8 || ranks == (is_open ? 1 : 2))) continue;
          const int found = iterations({.cells = {n, n, n}, .edges = edges, .is_open = is_open}, b, ranks);
          NOTE(n, "^3 of ", edges[0], " x ", edges[1], " x ", edges[2], is_open ? ", " : ", closed, ", ranks, " ranks: ", found,
               " iterations, and ", cubes, " of cubes");
          CHECK(found <= cubes + 4);
        }
  }
}

TEST("stretched cells: layers of a thousandfold density are solved, too") {
  NOTE(fresh::said());
  fresh::Random random(852);
  const auto b = random.normals(24 * 24 * 32);
  for (const Edges& edges : {Edges{1, 1, 1}, {1, 1, 8}, {8, 1, 1}}) {
    const int found = iterations({.cells = {24, 24, 32}, .edges = edges, .contrast = 1e3}, b, 2);
    NOTE(edges[0], " x ", edges[1], " x ", edges[2], ": ", found, " iterations");
    CHECK(found <= 25);
  }
}

TEST("stretched cells: strong directions are paired until all are about equal") {
  const Extents grid{64, 64, 64};
  CHECK(steps_of({.cells = grid}, 1) == "222 222 222 222 111 ");
  CHECK(steps_of({.cells = grid, .edges = {1, 1, 4}}, 1) == "221 221 222 222 222 111 ");
  CHECK(steps_of({.cells = grid, .edges = {8, 1, 1}}, 1) == "122 122 122 222 222 111 ");
  CHECK(steps_of({.cells = grid, .edges = {1, 4, 16}}, 1) == "211 211 221 221 222 222 111 ");
  CHECK(steps_of({.cells = {64, 1, 64}, .edges = {1, 1, 4}}, 1) == "211 211 212 212 111 ");
  CHECK(steps_of({.cells = grid, .contrast = 1e6}, 1) == "222 222 222 222 111 ");
  CHECK(steps_of({.cells = {2, 2, 64}}, 1) == "222 111 ");
}

TEST("stretched cells: where ranks have too few layers to pair them first, all directions are") {
  const Extents grid{64, 64, 16};
  CHECK(steps_of({.cells = grid, .edges = {8, 8, 1}}, 1) == "112 112 112 222 221 221 111 ");
  CHECK(steps_of({.cells = grid, .edges = {8, 8, 1}}, 4) == "222 222 111 ");
}
