// Precond mg where one phase is in several parts: which parts are stiff, that iterations stay few whatever the contrast, that
// levels below are of aggregates only there, and that weights pull no strongly coupled cells apart.
#include <algorithm>
#include <cmath>

#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/stiff_parts.hpp"

using namespace cell_boxes;
using namespace cycles;
using namespace problems;

namespace {

/// Spheres of another coefficient at random places, some of which may touch.
Box with_spheres(fresh::Random& random, const Extents& cells, int count, double contrast) {
  Box box{.cells = cells};
  box.k.assign(std::size_t(cells[0] * cells[1] * cells[2]), 1.0);
  const double size = double(std::min({cells[0], cells[1], cells[2]}));
  for (int s = 0; s < count; s++) {
    double middle[3];
    for (std::size_t d = 0; d < 3; d++) middle[d] = random.real(0, double(cells[d]));
    const double radius = random.real(0.06, 0.16) * size;
    for (i64 row = 0; row < i64(box.k.size()); row++) {
      const Extents at = place(cells, row);
      double distance = 0;
      for (std::size_t d = 0; d < 3; d++) distance += std::pow(double(at[d]) + 0.5 - middle[d], 2);
      if (distance < radius * radius) box.k[std::size_t(row)] = contrast;
    }
  }
  return box;
}

Options with(const Extents& g, const std::string& method, int ranks) {
  Options o = options(method, "host", ranks);
  o.precond = "mg";
  o.grid = std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]);
  return o;
}

bool has_aggregates(const CsrMatrix& A, const Extents& cells) {
  const GridLevels levels(A.view(), cells, layers_of(A, cells, 1));
  return levels.count() > levels.last_grid() + 1;
}

/// Spheres of which two or more are parts that pairs would mix: the first such draw of a few.
Box in_several_parts(fresh::Random& random, const Extents& cells, int count, double contrast) {
  for (int draw = 0; draw < 20; draw++) {
    Box box = with_spheres(random, cells, count, contrast);
    if (has_aggregates(matrix_of(box), cells)) return box;
  }
  CHECK(!"twenty draws without aggregates");
  return with_spheres(random, cells, count, contrast);
}

/// Two layers of each phase, four cells deep.
const Extents layered{12, 12, 16};

}  // namespace

TEST("phases: parts are stiff that are coupled a hundred times more strongly inside, and only these") {
  CHECK(count_stiff_parts(matrix_of({.cells = layered}).view()) == 0);
  CHECK(count_stiff_parts(matrix_of({.cells = layered, .contrast = 10}).view()) == 0);
  CHECK(count_stiff_parts(matrix_of({.cells = layered, .contrast = 1e6, .wraps = {true, true, false}}).view()) == 1);  // the
  // second one ends at the open face
  CHECK(count_stiff_parts(matrix_of({.cells = {12, 12, 20}, .contrast = 1e6, .wraps = {true, true, false}}).view()) == 2);
  CHECK(count_stiff_parts(matrix_of({.cells = {12, 12, 20}, .contrast = 1e-6, .wraps = {true, true, false}}).view()) == 1);
}

TEST("phases: fresh bubbles take few iterations of cg, whatever the contrast, the box and the ranks") {
  NOTE(fresh::said());
  fresh::Random random(901);
  for (int trial = 0; trial < 6; trial++) {
    const Extents cells{random.whole(24, 40), random.whole(24, 40), random.whole(24, 40)};
    const double contrast = std::pow(10.0, random.whole(3, 6));
    const CsrMatrix A = matrix_of(with_spheres(random, cells, 12, contrast));
    const auto b = random.normals(A.n);
    for (int ranks : {1, 2, 5}) {
      const int found = iterations(A, b, with(cells, "cg", ranks));
      NOTE(shown(cells), ", contrast ", contrast, ", ", ranks, " ranks: ", found, " iterations");
      CHECK(found <= 30);
    }
  }
}

TEST("phases: layers that no pairs of cells keep apart take few iterations, by V and by W") {
  NOTE(fresh::said());
  fresh::Random random(902);
  for (double contrast : {1e3, 1e6}) {
    const Extents cells{32, 32, 44};
    const CsrMatrix A = matrix_of({.cells = cells, .contrast = contrast});
    const auto b = random.normals(A.n);
    for (const char* cycle : {"v", "w"}) {
      Options o = with(cells, "cg", 2);
      o.cycle = cycle;
      const int found = iterations(A, b, o);
      NOTE("contrast ", contrast, ", cycle ", cycle, ": ", found, " iterations");
      CHECK(found <= 22);
    }
  }
}

TEST("phases: there are aggregates by couplings where parts are several, and else pairs of cells to the last level") {
  NOTE(fresh::said());
  fresh::Random random(903);
  const Extents cells{32, 32, 32};
  CHECK(!has_aggregates(poisson(32, 32, 32, 7, 1), cells));
  CHECK(!has_aggregates(poisson(32, 32, 32, 7, 1e3), cells));
  CHECK(!has_aggregates(poisson(32, 32, 32, 7, 1e6), cells));
  CHECK(has_aggregates(matrix_of(in_several_parts(random, cells, 30, 1e6)), cells));
}

TEST("phases: parts of a small contrast, which want no polynomials of a degree more, are told apart, too") {
  NOTE(fresh::said());
  fresh::Random random(909);
  const Extents cells{36, 32, 32};
  const CsrMatrix A = matrix_of(in_several_parts(random, cells, 20, 90));
  CHECK(GridLevels(A.view(), cells, layers_of(A, cells, 1)).degree() == 1);
  const auto b = random.normals(A.n);
  for (int ranks : {1, 3}) {
    const int found = iterations(A, b, with(cells, "cg", ranks));
    NOTE(ranks, " ranks: ", found, " iterations");
    CHECK(found <= 25);
  }
}

TEST("phases: the surface of a phase counts, however large the box around it") {
  for (i64 n : {32, 64, 88}) {
    const Extents cells{n, n, n};
    const auto degree_with_cube = [&](i64 side) {
      Box box{.cells = cells};
      box.k.assign(std::size_t(n * n * n), 1.0);
      for (i64 z = 3; z < 3 + side; z++)
        for (i64 y = 3; y < 3 + side; y++)
          for (i64 x = 3; x < 3 + side; x++) box.k[std::size_t(x + n * (y + n * z))] = 1e3;
      const CsrMatrix A = matrix_of(box);
      return GridLevels(A.view(), cells, layers_of(A, cells, 1)).degree();
    };
    NOTE(n, "^3");
    CHECK(degree_with_cube(n / 8) == 2);  // six sides of as many cells each are more than a twentieth of a section
    CHECK(degree_with_cube(2) == 1);
  }
}

TEST("phases: M is symmetric and positive, on ranks that own none of the aggregates, too") {
  NOTE(fresh::said());
  fresh::Random random(904);
  const Extents cells{20, 18, 32};
  const CsrMatrix A = with_solids(random, matrix_of(in_several_parts(random, cells, 16, 1e5)), 0.05);
  for (int ranks : {1, 3, 8})
    for (i64 alone : {0, 100, 16384})
      for (Cycle cycle : {Cycle::v, Cycle::w}) {
        NOTE(ranks, " ranks, levels of ", alone, " rows on one");
        const Partition first = partition_in_layers(A.n, grid_layers(A.view(), cells, ranks, alone), ranks);
        const auto levels = std::make_shared<GridLevels>(A.view(), cells, first, alone);
        const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
        const auto found = applied(A, given, levels, cycle);
        const double scale = std::sqrt(dot(found[0], found[0]) * dot(given[1], given[1]));
        CHECK(std::abs(dot(found[0], given[1]) - dot(found[1], given[0])) <= 1e-9 * scale);
        CHECK(dot(found[0], given[0]) > 0);
      }
}

TEST("phases: pairs stay where few cells are coupled, and aggregates of all ranks would leave too many rows") {
  NOTE(fresh::said());
  fresh::Random random(908);
  const Extents cells{28, 28, 28};
  Box box{.cells = cells};
  box.k.assign(std::size_t(cells[0] * cells[1] * cells[2]), 1.0);
  CsrMatrix A = matrix_of(box);
  const auto pocket = [&](i64 row) {  // two of 4^3 cells, whose first two layers are of another phase
    const Extents at = place(cells, row);
    for (i64 begin : {4, 20}) {
      bool inside = true;
      for (std::size_t d = 0; d < 3; d++) inside = inside && at[d] >= begin && at[d] < begin + 4;
      if (inside) return at[0] < begin + 2 ? 1e3 : 1.0;
    }
    return 0.0;
  };
  for (i64 i = 0; i < A.n; i++) {
    double sum = 1e-6;
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) {
      const i64 j = A.indices[std::size_t(k)];
      if (j == i) continue;
      const double ours = pocket(i), others = pocket(j);
      const double coupling = ours > 0 && others > 0 ? 2 * ours * others / (ours + others) : 0;
      A.values[std::size_t(k)] = -coupling;
      sum += coupling;
    }
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (A.indices[std::size_t(k)] == i) A.values[std::size_t(k)] = pocket(i) > 0 ? sum : 1;
  }
  const auto b = random.normals(A.n);
  for (int ranks : {1, 7, 14})
    for (const char* precision : {"double", "single"}) {
      NOTE(ranks, " ranks, ", precision);
      Options o = with(cells, "cg", ranks);
      o.cycle_precision = precision;
      CHECK(iterations(A, b, o) <= 20);
    }
}

TEST("phases: new values go through the aggregates that there are, and others come with a new solver") {
  NOTE(fresh::said());
  fresh::Random random(906);
  const Extents cells{32, 32, 32};
  const Box box = with_spheres(random, cells, 12, 1e6);
  const CsrMatrix A = matrix_of(box);
  Box moved = box;
  std::rotate(moved.k.begin(), moved.k.begin() + 4, moved.k.end());
  const CsrMatrix later = matrix_of(moved);
  GridLevels kept(A.view(), cells, layers_of(A, cells, 2));
  const GridLevels fresh_ones(later.view(), cells, layers_of(later, cells, 2));
  const int count = kept.count();
  kept.update(A.view());
  const GridLevels again(A.view(), cells, layers_of(A, cells, 2));
  CHECK(std::equal(kept.last_inverse().values.begin(), kept.last_inverse().values.end(), again.last_inverse().values.begin(),
                   again.last_inverse().values.end()));
  kept.update(later.view());
  CHECK(kept.fits());
  CHECK(kept.count() == count);
  const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
  const auto found = applied(later, given, std::make_shared<GridLevels>(std::move(kept)), Cycle::v);
  CHECK(dot(found[0], given[0]) > 0);
  CHECK(iterations(later, given[0], with(cells, "cg", 2)) <= 30);
}

TEST("phases: the same bits on host and model in any order of messages, and memory is foretold") {
  NOTE(fresh::said());
  fresh::Random random(907);
  const Extents cells{24, 20, 32};
  const CsrMatrix A = matrix_of(in_several_parts(random, cells, 14, 1e6));
  const auto b = random.normals(A.n);
  for (int ranks : {1, 3})
    for (int level_rows : {0, level_rows_of_gpus})
      for (const char* precision : {"double", "single"}) {
        NOTE(ranks, " ranks, level_rows ", level_rows, ", ", precision);
        Options o = with(cells, "cg", ranks);
        o.cycle_precision = precision;
        o.level_rows = level_rows;
        CHECK(estimate_memory({.A = A.view()}, o, ranks, false) == Solver(A.view(), o).memory());
        const Solved host = problems::solve(A.view(), b, o);
        CHECK(host.report.status == Status::converged);
        o.engine = "model";
        for (int seed : {0, 1}) {
          o.seed = seed;
          CHECK(problems::solve(A.view(), b, o).x == host.x);
        }
      }
}
