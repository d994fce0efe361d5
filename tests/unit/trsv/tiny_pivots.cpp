// Pivots that may stand for zero: which are told, what they do to inverses, and that solves are right nevertheless.
#include "sordino/trsv/tiny_pivots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// The largest of both ratios of a panel P = [D; L], [column][row]: in long double.
double dense_growth(const std::vector<std::vector<long double>>& P) {
  const std::size_t w = P.size(), front = P[0].size();
  std::vector<std::vector<long double>> X(w, std::vector<long double>(w, 0));  // D^-1
  for (std::size_t j = 0; j < w; j++)
    for (std::size_t i = j; i < w; i++) {
      long double left = i == j ? 1 : 0;
      for (std::size_t k = j; k < i; k++) left -= P[k][i] * X[j][k];
      X[j][i] = left / P[i][i];
    }
  const auto size = [](const auto& A, std::size_t i, std::size_t j) { return std::fabs(A[j][i]); };
  std::vector<long double> of_row(front, 0), of_column(w, 0), x(w, 0), back(w, 0);
  for (std::size_t j = 0; j < w; j++)
    for (std::size_t i = 0; i < front; i++) of_row[i] += size(P, i, j), of_column[j] += size(P, i, j);
  for (std::size_t j = 0; j < w; j++)
    for (std::size_t i = 0; i < w; i++) x[i] += size(X, i, j) * of_row[j], back[j] += size(X, i, j) * of_column[i];
  long double most = 1;
  for (std::size_t i = 0; i < front; i++) {
    long double sum = 0;
    for (std::size_t j = 0; j < w; j++) sum += size(P, i, j) * x[j];
    most = std::max(most, sum / of_row[i]);
  }
  for (std::size_t j = 0; j < w; j++) {
    long double sum = 0;
    for (std::size_t i = 0; i < w; i++) sum += size(P, i, j) * back[i];
    most = std::max(most, sum / of_column[j]);
  }
  return double(most);
}

TEST("growth is the larger one of both dense ratios, of one block and of panels with rows below") {
  NOTE(fresh::said());
  fresh::Random random(41);
  const i32 n = 24;
  const Columns c = dense(n);
  for (int round = 0; round < 20; round++) {
    auto values = triangles::values_of<double>(c, random);
    for (i64 j = 0; j < n; j++)
      for (std::size_t k = pivot(c, j); k < pivot(c, j + 1); k++)
        values[k] *= std::pow(10.0, 0.3 * double(round % 2 == 0 ? c.rows[k] : j));
    for (const i32 width : {24, 9}) {
      const Factor<double> factor(TriangleView<double>{c.pattern(), values.data()}, {.width = width});
      const Blocks& blocks = factor.blocks();
      CHECK(blocks.count() == (width == n ? 1 : 3));
      double most = 1;
      for (const Block& b : blocks.blocks) {
        std::vector<std::vector<long double>> P(std::size_t(b.width), std::vector<long double>(std::size_t(b.front), 0));
        for (i64 j = 0; j < b.width; j++)
          for (i64 i = j; i < b.front; i++)
            P[std::size_t(j)][std::size_t(i)] = values[pivot(c, b.column + j) + std::size_t(i - j)];
        most = std::max(most, dense_growth(P));
      }
      CHECK_NEAR(factor.growth() / most, 1, 1e-10);
    }
  }
}

TEST("a tiny pivot with nothing behind it leaves growth small, one in the middle does not, and what is refinable is known") {
  NOTE(fresh::said());
  fresh::Random random(44);
  const i32 n = 24;
  const Columns c = dense(n);
  auto values = triangles::values_of<double>(c, random);
  const TriangleView<double> L{c.pattern(), values.data()};
  Factor<double> factor(L);
  CHECK(factor.growth() < 1e6);
  values[pivot(c, n - 1)] *= 1e-200;
  factor.update(L);
  CHECK(tiny_pivots(L).count >= 1);
  CHECK(is_refinable<double>(factor.growth()));
  values[pivot(c, n / 2)] *= 1e-20;
  factor.update(L);
  CHECK(!is_refinable<double>(factor.growth()));
  CHECK(!is_refinable<double>(std::numeric_limits<double>::infinity()));
  CHECK(is_refinable<double>(1e12));
  CHECK(!is_refinable<float>(1e6));
}

/// One block that loses digits of x_2 in row 3, where T * 1 hides it behind an entry of 1 / e; 1e-40 stands for zero. With
/// `turned` its rows are columns, from the last on: then L^T does so.
std::vector<double> hidden(double e, bool turned, fresh::Random& random) {
  const std::vector<std::vector<double>> rows{{1}, {0, 1}, {0, 1, e}, {1 / e, 1, 1, 1}, {0, 1 / e, 0, 0, 1}};
  std::vector<double> values;
  for (std::size_t j = 0; j < 5; j++)
    for (std::size_t i = j; i < 5; i++) {
      const double value = turned ? rows[4 - j][4 - i] : rows[i][j];
      values.push_back(value == 0 ? 1e-40 : value * random.real(0.5, 1.5));
    }
  return values;
}

TEST("a pivot that growth and random right-hand sides do not see is seen by the trial, in all ways, and refinement mends it") {
  NOTE(fresh::said());
  fresh::Random random(45);
  const Columns c = dense(5);
  int lost = 0, mended = 0;
  for (int round = 0; round < 200; round++)
    for (How how : ways) {
      const auto values = hidden(std::pow(10.0, -double(random.whole(8, 14))), how != How::plain, random);
      const TriangleView<double> L{c.pattern(), values.data()};
      std::vector<double> minus(5, 0.0), b(5, 0.0), x(5);
      minus[how == How::plain ? 1 : 3] = -1;
      residual(L, how, b.data(), minus.data(), b.data());  // a column
      TriangularSolver<double> solver(L, {.threads = 1});
      CHECK(solver.statistics().growth < 1e3);
      solver.solve(b.data(), x.data(), 1, how);
      const double before = backward_errors(L, how, b.data(), x.data())[0];
      const int steps = solver.refinements_wanted(L, how);
      CHECK(steps > 0);
      const double after = solver.refine(L, b.data(), x.data(), 1, how, steps).errors.back();
      CHECK(after <= std::max(160 * 0x1p-53, 1e-3 * before));
      lost += before > 1e-9;
      mended += after <= 160 * 0x1p-53;
    }
  NOTE(lost, " of 600 lost digits, ", mended, " have them");
  CHECK(lost > 300);
  CHECK(mended == 600);
}

TEST("triangles whose blocks store zeros want no steps because of them: where x is zero, errors of it are not looked at") {
  NOTE(fresh::said());
  fresh::Random random(46);
  const Columns c = dense(40);
  for (int round = 0; round < 20; round++) {
    std::vector<double> values;
    for (i64 j = 0; j < c.n; j++)
      for (i64 i = j; i < c.n; i++)
        values.push_back(i == j ? random.real(0.5, 2) : random.chance(0.3) ? random.normal() / std::sqrt(12.0) : 0.0);
    const TriangleView<double> L{c.pattern(), values.data()};
    TriangularSolver<double> solver(L, {.threads = 1});
    for (How how : ways) CHECK(solver.refinements_wanted(L, how) == 0);
  }
}

TEST("where growth alone wants all steps no trial is made") {
  NOTE(fresh::said());
  fresh::Random random(47);
  const Columns c = dense(24);
  auto values = triangles::values_of<double>(c, random);
  values[pivot(c, 12)] = 1e-10;
  const TriangleView<double> L{c.pattern(), values.data()};
  TriangularSolver<double> solver(L, {.threads = 1});
  REQUIRE(wants_all_steps<double>(solver.statistics().growth));
  REQUIRE(!solver.statistics().by_rows);
  for (How how : ways) CHECK(solver.refinements_wanted(L, how) == most_refinements);
  CHECK(solver.statistics().forward_tasks == 0);
  CHECK(solver.statistics().backward_tasks == 0);
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
  for (How how : ways) {  // not of L's columns: blocks leave roundings in an x that is zero
    const auto b = random.normals(c.n);
    std::vector<double> x(b.size());
    solver.solve(b.data(), x.data(), 1, how);
    CHECK(backward_errors(L, how, b.data(), x.data())[0] <= 16 * 0x1p-53);
  }
}

}  // namespace
