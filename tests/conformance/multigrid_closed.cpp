// Multigrid on closed boxes, whose matrices are singular: a last level of many cells is solved as exactly as one that is not,
// of one part or several, and methods whose residuals are recurrences get no part of what A maps to zero.
#include <cmath>

#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/dense_inverse.hpp"

using namespace cell_boxes;
using namespace cycles;
using namespace problems;

namespace {

/// A part of the cells with a coefficient that is so many times less.
std::vector<double> two_phases(fresh::Random& random, const Extents& cells, double part, double contrast) {
  std::vector<double> k(std::size_t(cells[0] * cells[1] * cells[2]));
  for (double& value : k) value = random.chance(part) ? 1 / contrast : 1;
  return k;
}

std::vector<double> product(const CsrMatrix& A, const std::vector<double>& x) {
  std::vector<double> y(x.size(), 0.0);
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      y[std::size_t(i)] += A.values[std::size_t(k)] * x[std::size_t(A.indices[std::size_t(k)])];
  return y;
}

Options closed(const std::string& precond, const Extents& cells, int ranks, const std::string& method = "cg") {
  Options o = options(method, "host", ranks);
  o.precond = precond;
  if (precond == "mg") o.grid = std::to_string(cells[0]) + "," + std::to_string(cells[1]) + "," + std::to_string(cells[2]);
  o.nullspace = "constant";
  o.maxiter = 500;
  return o;
}

}  // namespace

TEST("closed boxes: many cells are inverted, whatever their contrast and edges") {
  NOTE(fresh::said());
  fresh::Random random(861);
  for (const Extents& cells : {Extents{22, 12, 6}, {16, 16, 7}, {12, 12, 12}, {20, 20, 5}})
    for (double contrast : {1.0, 1e3, 1e4, 1e6})
      for (const std::array<double, 3>& edges : {std::array<double, 3>{20, 20, 4}, {1, 1, 1}}) {
        const Box box{.cells = cells, .edges = edges, .is_open = false, .k = two_phases(random, cells, 0.3, contrast)};
        const CsrMatrix A = matrix_of(box);
        const std::vector<double> b = product(A, random.normals(A.n));
        const double residual = relative_residual(A, product(inverse_of(A.view(), true), b), b);
        NOTE(shown(cells), " of ", edges[0], ", contrast ", contrast, ": residual ", residual);
        CHECK(residual <= 1e-8);
      }
}

TEST("closed boxes: parts without couplings between them are inverted each") {
  NOTE(fresh::said());
  fresh::Random random(862);
  const Extents cells{14, 9, 7};
  for (double contrast : {1.0, 1e4}) {
    const CsrMatrix A = matrix_of({.cells = cells, .is_open = false, .k = two_phases(random, cells, 0.3, contrast)});
    CsrMatrix parted = A;
    for (i64 i = 0; i < A.n; i++)
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) {
        const i64 j = A.indices[std::size_t(k)], here = i % cells[0] / 5, there = j % cells[0] / 5;
        if (here == there) continue;
        for (i64 d = A.indptr[std::size_t(i)]; d < A.indptr[std::size_t(i) + 1]; d++)
          if (A.indices[std::size_t(d)] == i) parted.values[std::size_t(d)] += A.values[std::size_t(k)];
        parted.values[std::size_t(k)] = 0;
      }
    const std::vector<double> b = product(parted, random.normals(A.n));
    const CsrMatrix X = inverse_of(parted.view());
    std::vector<double> x = product(X, b);
    NOTE("contrast ", contrast, ": residual ", relative_residual(parted, x, b));
    CHECK(relative_residual(parted, x, b) <= 1e-9);
    for (i64 part = 0; part < 3; part++) {
      std::vector<double> ones(std::size_t(A.n));
      for (i64 i = 0; i < A.n; i++) ones[std::size_t(i)] = i % cells[0] / 5 == part;
      const std::vector<double> nothing = product(X, ones);
      CHECK(dot(nothing, nothing) <= 1e-16 * dot(x, x));
    }
  }
}

TEST("closed boxes: gropp takes as many iterations as cg where coarse matrices are differences of large numbers") {
  NOTE(fresh::said());
  fresh::Random random(864);
  for (const Extents& cells : {Extents{31, 3, 13}, {13, 11, 9}, {47, 5, 5}, {17, 13, 19}})
    for (double contrast : {1e4, 1e5, 1e6})
      for (const char* precond : {"amg", "mg"})
        for (int ranks : {1, 2}) {
          const CsrMatrix A = neumann(poisson(cells[0], cells[1], cells[2], 7, contrast));
          const std::vector<double> b = product(A, random.normals(A.n));
          Options o = closed(precond, cells, ranks);
          o.rtol = 1e-9;
          const int cg = solve(A.view(), b, o).report.iterations;
          o.solver = "gropp";
          const Solved s = solve(A.view(), b, o);
          NOTE(shown(cells), ", ", precond, " on ", ranks, " ranks, contrast ", contrast, ": ", s.report.iterations,
               " iterations, cg ", cg);
          CHECK(s.report.status == Status::converged);
          CHECK(s.report.iterations <= cg + cg / 4 + 2);
        }
}

TEST("closed boxes: gropp takes as many iterations as cg, with mg and amg, periodic or not") {
  NOTE(fresh::said());
  fresh::Random random(863);
  for (const Extents& cells : {Extents{17, 8, 21}, {12, 19, 11}})
    for (bool wraps : {true, false})
      for (double contrast : {1.0, 1e3, 1e6})
        for (const char* precond : {"amg", "mg"})
          for (int ranks : {1, 5}) {
            const CsrMatrix A = matrix_of({.cells = cells,
                                           .edges = {20, 20, 4},
                                           .is_open = false,
                                           .wraps = {false, false, wraps},
                                           .k = two_phases(random, cells, 0.3, contrast)});
            const std::vector<double> b = product(A, random.normals(A.n));
            const int cg = solve(A.view(), b, closed(precond, cells, ranks)).report.iterations;
            const Solved s = solve(A.view(), b, closed(precond, cells, ranks, "gropp"));
            NOTE(shown(cells), wraps ? ", periodic, " : ", ", precond, " on ", ranks, " ranks, contrast ", contrast, ": ",
                 s.report.iterations, " iterations, cg ", cg);
            CHECK(s.report.status == Status::converged);
            CHECK(relative_residual(A, s.x, b) <= 1.01e-8);
            CHECK(s.report.iterations <= cg + cg / 4 + 2);
          }
}
