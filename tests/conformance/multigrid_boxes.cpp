// Precond mg on boxes of stretched cells, and on periodic ones: iterations are about those of cubes, and of open boxes.
#include <cmath>

#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/dense_inverse.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"

using namespace cell_boxes;
using namespace cycles;
using namespace problems;

namespace {

/// Iterations to 1e-8, which are checked.
int iterations(const Box& box, const std::vector<double>& b, int ranks, const std::string& cycle = "v") {
  Options o = options("cg", "host", ranks);
  o.cycle = cycle;
  o.precond = "mg";
  o.grid = std::to_string(box.cells[0]) + "," + std::to_string(box.cells[1]) + "," + std::to_string(box.cells[2]);
  if (!box.is_open) o.nullspace = "constant";
  const CsrMatrix A = matrix_of(box);
  const Solved s = problems::solve(A.view(), b, o);
  CHECK(s.report.status == Status::converged);
  CHECK(relative_residual(A, s.x, b) <= 1.01e-8);
  return s.report.iterations;
}

/// How many cells of a level make one of the next, as text: "221" of pairs in x and y.
std::string steps_of(const Box& box, int ranks) {
  const CsrMatrix A = matrix_of(box);
  std::string text;
  for (const GridStep& level : grid_steps(coupling_strengths(A.view(), box.cells), box.cells, layers_of(A, box.cells, ranks))) {
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

TEST("stretched cells: pairs are the same on ranks of few layers, and where theirs are odd other directions come first") {
  const Extents grid{64, 64, 16};
  for (int ranks : {1, 4, 8}) CHECK(steps_of({.cells = grid, .edges = {8, 8, 1}}, ranks) == "112 112 112 222 221 221 111 ");
  CHECK(steps_of({.cells = {16, 16, 16}}, 8) == "222 222 111 ");
  CHECK(steps_of({.cells = {16, 16, 16}}, 16) == "221 112 222 111 ");
}

TEST("periodic boxes: few iterations, closed or open elsewhere, of any sizes, on any ranks") {
  NOTE(fresh::said());
  fresh::Random random(853);
  using Wraps = std::array<bool, 3>;
  for (const Extents& cells : {Extents{32, 32, 32}, {31, 29, 32}, {15, 1, 40}, {3, 5, 64}, {6, 12, 24}, {33, 1, 1}})
    for (const Wraps& wraps : {Wraps{true, true, true}, {true, false, true}, {false, true, false}, {false, false, true}})
      for (bool is_open : {false, true})
        for (int ranks : {1, 2, 4}) {
          Box box{.cells = cells, .is_open = is_open, .wraps = wraps};
          bool closed = !is_open;
          for (std::size_t d = 0; d < 3; d++) box.wraps[d] = wraps[d] && cells[d] > 2;
          if (box.wraps == Wraps{true, true, true}) closed = true, box.is_open = false;
          if (cells[2] == 1 && ranks > 1 && cells[1] == 1 && ranks > 2) continue;
          auto b = random.normals(cells[0] * cells[1] * cells[2]);
          if (closed) b = without_mean(b);
          const int found = iterations(box, b, ranks);
          NOTE(shown(cells), ", wraps ", wraps[0], wraps[1], wraps[2], ", ", closed ? "closed" : "open", ", ", ranks,
               " ranks: ", found, " iterations");
          CHECK(found <= 14);
        }
}

TEST("periodic boxes: x is what a direct solve of the levels' first matrix finds") {
  NOTE(fresh::said());
  fresh::Random random(854);
  const Box box{.cells = {6, 5, 8}, .edges = {1, 1, 2}, .contrast = 10, .wraps = {true, true, false}};
  const CsrMatrix A = matrix_of(box);
  const std::vector<double> b = random.normals(A.n);
  const CsrMatrix inverse = inverse_of(A.view());
  for (const char* method : {"cg", "gmres"})
    for (int ranks : {1, 2, 4}) {
      Options o = options(method, "host", ranks);
      o.precond = "mg", o.grid = "6,5,8", o.rtol = 1e-12;
      const Solved s = problems::solve(A.view(), b, o);
      double off = 0, norm = 0;
      for (i64 i = 0; i < A.n; i++) {
        double x = 0;
        for (i64 k = inverse.indptr[std::size_t(i)]; k < inverse.indptr[std::size_t(i) + 1]; k++)
          x += inverse.values[std::size_t(k)] * b[std::size_t(inverse.indices[std::size_t(k)])];
        off = std::max(off, std::abs(x - s.x[std::size_t(i)])), norm = std::max(norm, std::abs(x));
      }
      NOTE(method, " on ", ranks, " ranks: ", off / norm);
      CHECK(off <= 1e-9 * norm);
      Options model = o;
      model.engine = "model";
      for (int seed : {1, 2, 3}) {
        model.seed = seed;
        CHECK(problems::solve(A.view(), b, model).x == s.x);
      }
    }
}

TEST("periodic boxes: M is symmetric and positive, of any sizes, and couples the ends") {
  NOTE(fresh::said());
  fresh::Random random(855);
  for (const Extents& cells : {Extents{12, 10, 9}, {7, 5, 6}, {3, 3, 16}, {4, 4, 8}})
    for (int ranks : {1, 3})
      for (Cycle cycle : {Cycle::v, Cycle::w}) {
        NOTE(shown(cells), ", ", ranks, " ranks, ", cycle == Cycle::w ? "w" : "v");
        const CsrMatrix A = with_solids(
            random, matrix_of({.cells = cells, .edges = {1, 1, 3}, .contrast = 50, .wraps = {true, true, true}}), 0.1);
        const Partition partition = layers_of(A, cells, ranks);
        const auto levels = std::make_shared<GridLevels>(A.view(), cells, partition);
        const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
        CHECK(is_symmetric_and_positive(given, applied(A, given, levels, cycle)));
      }
}
