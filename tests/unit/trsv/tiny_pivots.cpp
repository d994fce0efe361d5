// Pivots that may stand for zero: which are told, what they do to inverses, and that solves are right nevertheless.
#include "sordino/trsv/tiny_pivots.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/api/triangular.hpp"
#include "sordino/trsv/substitution.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using triangles::Columns;

constexpr How ways[] = {How::plain, How::transposed, How::adjoint};

Columns dense(i32 n) {
  std::vector<std::vector<i32>> below(std::size_t(n), std::vector<i32>{});
  for (i32 j = 0; j < n; j++)
    for (i32 i = j + 1; i < n; i++) below[std::size_t(j)].push_back(i);
  return triangles::columns_of(below);
}

/// The place of the pivot of row j.
std::size_t pivot(const Columns& c, i64 j) { return std::size_t(c.begin[std::size_t(j)]); }

/// Largest backward error of what solves by any right-hand side may be asked for: random ones, and each of L's columns.
double worst_error(TriangularSolver<double>& solver, const TriangleView<double>& L, fresh::Random& random) {
  const i64 n = L.pattern.n;
  double worst = 0;
  for (How how : ways) {
    std::vector<double> b(std::size_t(n * (n + 1)), 0.0), minus(b.size(), 0.0), x(b.size()), by(b.size());
    for (i64 k = 0; k < n; k++) minus[std::size_t(k * (n + 1) + k)] = -1;
    residual(L, how, b.data(), minus.data(), b.data(), n + 1);
    const auto last = random.normals(n);
    for (i64 k = 0; k < n; k++) b[std::size_t(k * (n + 1) + n)] = last[std::size_t(k)];
    const int steps = solver.refinements_wanted(L, how);
    for (i64 c = 0; c <= n; c++) {  // one by one, as callers solve
      std::vector<double> one(std::size_t(n), 0.0), found(one.size());
      for (i64 k = 0; k < n; k++) one[std::size_t(k)] = b[std::size_t(k * (n + 1) + c)];
      solver.solve(one.data(), found.data(), 1, how);
      if (steps > 0) solver.refine(L, one.data(), found.data(), 1, how, steps);
      worst = std::max(worst, backward_errors(L, how, one.data(), found.data())[0]);
    }
  }
  return worst;
}

TEST("a pivot is tiny beside the largest entry of its row or its column, of which the sentence tells the larger") {
  const Columns c = dense(3);  // columns (1, 5, 2), (p, 3), (1)
  std::vector<double> values{1, 5, 2, 1e-15, 3, 1};
  const TriangleView<double> L{c.pattern(), values.data()};
  const TinyPivots in_row = tiny_pivots(L);
  CHECK(in_row.count == 1);
  CHECK(in_row.row == 1);
  CHECK(in_row.pivot == 1e-15);
  CHECK(in_row.largest == 5);
  CHECK(!in_row.in_column);
  values[4] = -8;
  const TinyPivots in_column = tiny_pivots(L);
  CHECK(in_column.largest == 8);
  CHECK(in_column.in_column);
  values[5] = 1e-16;  // of row 2, beside 8 and 2; smaller than the other one
  CHECK(tiny_pivots(L).count == 2);
  CHECK(tiny_pivots(L).row == 2);
  CHECK(tiny_pivots(TriangleView<double>{c.pattern(), values.data(), true}).count == 0);
}

TEST("a pivot alone in its row and column is as small as it likes, and the part grows with rows up to the root of a rounding") {
  const Columns c = triangles::columns_of({{}, {2}, {}});
  const std::vector<double> values{1e-300, 1, 1, 1};
  CHECK(tiny_pivots(TriangleView<double>{c.pattern(), values.data()}).count == 0);
  CHECK(tiny_part<double>(1) == 4 * 0x1p-53);
  CHECK(tiny_part<double>(1000) == 4000 * 0x1p-53);
  CHECK(tiny_part<double>(i64(1) << 40) == std::sqrt(0x1p-53));
  CHECK(tiny_part<float>(1000) == 4000 * 0x1p-24);
  CHECK(tiny_part<float>(2000) == std::sqrt(0x1p-24));
  CHECK(tiny_part<Number>(10) == tiny_part<double>(10));
}

TEST("growth is that of the dense formula, in both ways, and no scale of rows or columns alone changes it") {
  NOTE(fresh::said());
  fresh::Random random(41);
  const i32 n = 24;
  const Columns c = dense(n);
  auto values = triangles::values_of<double>(c, random);
  const TriangleView<double> L{c.pattern(), values.data()};
  const double before = Factor<double>(L).growth();
  CHECK(before >= 1);
  CHECK(before < 1e6);
  for (i64 j = 0; j < n; j++) {  // D L: each row times a power of two
    for (i64 k = c.begin[std::size_t(j)]; k < c.begin[std::size_t(j) + 1]; k++)
      values[std::size_t(k)] = std::ldexp(values[std::size_t(k)], int(c.rows[std::size_t(k)] * 7 % 60) - 30);
  }
  Factor<double> scaled(L);
  CHECK(is_refinable<double>(scaled.growth()));
  values[pivot(c, n - 1)] *= 1e-200;  // tiny, and nothing comes behind it
  scaled.update(L);
  CHECK(tiny_pivots(L).count >= 1);
  CHECK(is_refinable<double>(scaled.growth()));
  values[pivot(c, n / 2)] *= 1e-20;
  scaled.update(L);
  CHECK(!is_refinable<double>(scaled.growth()));
  CHECK(!is_refinable<double>(std::numeric_limits<double>::infinity()));
  CHECK(is_refinable<double>(1e12));
  CHECK(!is_refinable<float>(1e6));
}

TEST("solves with tiny pivots are as good as substitution, whatever b is: such a triangle is kept by rows") {
  NOTE(fresh::said());
  fresh::Random random(42);
  for (int round = 0; round < 6; round++) {
    const i32 n = i32(random.whole(20, 90));
    const Columns c = dense(n);
    auto values = triangles::values_of<double>(c, random);
    const TriangleView<double> L{c.pattern(), values.data()};
    TriangularSolver<double> solver(L, {.threads = 1, .width = 64});
    CHECK(!solver.statistics().by_rows);
    const auto plain = values;
    values[pivot(c, random.whole(1, n - 2))] *= std::pow(10.0, -double(random.whole(18, 60)));
    values[pivot(c, random.whole(1, n - 2))] *= std::pow(10.0, -double(random.whole(2, 60)));
    solver.update(L);
    CHECK(solver.statistics().by_rows);
    CHECK(solver.statistics().tiny.count >= 1);
    CHECK(worst_error(solver, L, random) <= 16 * 0x1p-53);
    TriangularSolver<double> anew(L, {.threads = 1, .width = 64});
    CHECK(anew.statistics().by_rows);
    values = plain;
    solver.update({c.pattern(), values.data()});  // rows are right with any values
    CHECK(solver.statistics().tiny.count == 0);
    CHECK(worst_error(solver, {c.pattern(), values.data()}, random) <= 16 * 0x1p-53);
  }
}

TEST("a pivot that is tiny, whose inverse loses nothing, leaves blocks as they are") {
  NOTE(fresh::said());
  fresh::Random random(43);
  const Columns c = dense(70);
  auto values = triangles::values_of<double>(c, random);
  for (i64 j = 0; j < c.n; j++)
    for (std::size_t k = pivot(c, j) + 1; k < pivot(c, j + 1); k++) values[k] *= 0.02;
  values[pivot(c, 69)] *= 1e-30;
  const TriangleView<double> L{c.pattern(), values.data()};
  TriangularSolver<double> solver(L, {.threads = 1, .width = 32});
  CHECK(!solver.statistics().by_rows);
  CHECK(solver.statistics().tiny.row == 69);
  CHECK(worst_error(solver, L, random) <= 64 * 0x1p-53);
}

}  // namespace
