// Substitution by hand, and when a trial wants solves refined: only where they are worse than it.
#include "sordino/trsv/refinement.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/trsv/substitution.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using triangles::Columns;

constexpr How ways[] = {How::plain, How::transposed, How::adjoint};

/// Rows 2 and 0 change their places in the first column: a pivot stands anywhere.
const Columns three{3, {0, 3, 5, 6}, {2, 0, 1, 1, 2, 2}};

/// A pivot of 1 in each column, and one long row and one long column of this value: sums of so many terms.
template <class V>
struct Arrow {
  Arrow(i64 n, V value) {
    std::vector<std::vector<i32>> below(std::size_t(n), std::vector<i32>{i32(n - 1)});
    below.back().clear();
    for (i64 i = 1; i + 1 < n; i++) below[0].push_back(i32(i));
    columns = triangles::columns_of(below);
    for (i64 j = 0; j < n; j++)
      for (i64 k = columns.begin[std::size_t(j)]; k < columns.begin[std::size_t(j) + 1]; k++)
        values.push_back(columns.rows[std::size_t(k)] == j ? V{1} : value);
  }
  TriangleView<V> view() const { return {columns.pattern(), values.data()}; }

  Columns columns;
  std::vector<V> values;
};

/// Substitution, whose x are then made too large by this part of them, all but those of row 0.
template <class V>
SolveColumns<V> spoilt(const TriangleView<V>& L, How how, double part, int& solves) {
  return [&L, how, part, &solves](const V* b, V* x, i64 columns) {
    substitute(L, how, b, x, columns);
    for (i64 k = columns; k < L.pattern.n * columns; k++) x[k] = x[k] * V(1 + part);
    solves++;
  };
}

template <class V>
int wanted(const TriangleView<V>& L, How how, double part) {
  int solves = 0;
  const int steps = refinements_wanted<V>(L, how, spoilt(L, how, part, solves));
  CHECK(solves >= 1 + steps);
  return steps;
}

template <class V>
void check_wishes(V value) {
  const double rounding = std::is_same_v<V, float> ? 0x1p-24 : 0x1p-53;
  const Arrow<V> arrow(2000, value);
  const TriangleView<V> L = arrow.view();
  for (How how : ways) {
    NOTE("way ", int(how), ", rounding ", rounding);
    CHECK(wanted(L, how, 0) == 0);
    CHECK(wanted(L, how, 4 * rounding) == 0);
    CHECK(wanted(L, how, 1e4 * rounding) > 0);
  }
}

}  // namespace

TEST("substitution by hand, of several columns, in place too, and of a unit diagonal") {
  const std::vector<double> values{3, 2, -1, 4, 5, 8};  // rows (2), (-1, 4), (3, 5, 8)
  const TriangleView<double> L{three.pattern(), values.data()}, unit{three.pattern(), values.data(), true};
  const std::vector<double> x{1, 2, -1, 1, 3, 0};
  for (How how : ways)
    for (const TriangleView<double>& T : {L, unit}) {
      std::vector<double> b(6, 0.0), minus(x);
      for (double& v : minus) v = -v;
      residual(T, how, b.data(), minus.data(), b.data(), 2);  // T x, exact
      std::vector<double> found(6);
      substitute(T, how, b.data(), found.data(), 2);
      CHECK((found == x));
      substitute(T, how, b.data(), b.data(), 2);
      CHECK((b == x));
    }
}

TEST("substitution with L^H has conjugated entries") {
  const Columns two = triangles::columns_of({{1}, {}});
  const std::vector<Number> values{{0, 2}, {1, 1}, {2, 0}}, b{{3, 3}, {2, 0}};
  std::vector<Number> x(2);
  substitute(TriangleView<Number>{two.pattern(), values.data()}, How::adjoint, b.data(), x.data());
  CHECK((x[1].re == 1 && x[1].im == 0));
  CHECK((x[0].re == -2 && x[0].im == 1));  // (3 + 3i - (1 - i)) / -2i
}

TEST("a trial wants no steps of what is as good as substitution, and some of what is not, in all ways and types") {
  check_wishes<double>(0.3);
  check_wishes<float>(0.3f);
  check_wishes<Number>({0.3, 0.1});
}

TEST("what is above sixteen roundings is good where substitution is not better by a factor of four") {
  // The last row takes a million products from b, one by one, each time with a rounding.
  const Arrow<float> arrow(1 << 20, 0.3f);
  const TriangleView<float> L = arrow.view();
  int solves = 0;
  const auto exactly = spoilt(L, How::plain, 0, solves);
  const i64 n = L.pattern.n;
  std::vector<float> minus_one(std::size_t(n), -1.0f), b(minus_one.size(), 0.0f), x(b.size());
  residual(L, How::plain, b.data(), minus_one.data(), b.data());
  exactly(b.data(), x.data(), 1);
  CHECK(backward_errors(L, How::plain, b.data(), x.data())[0] > good_roundings * 0x1p-24);  // else this tests nothing
  CHECK(refinements_wanted<float>(L, How::plain, exactly) == 0);
  CHECK(wanted(L, How::plain, 1e-2) > 0);
}

TEST("a residual is as exact as its products, however long a row is") {
  const Arrow<double> arrow(100'000, 0.3);
  const TriangleView<double> L = arrow.view();
  const i64 n = L.pattern.n;
  for (How how : ways) {
    std::vector<double> minus_one(std::size_t(n), -1.0), b(minus_one.size(), 0.0), x(b.size(), 1.0);
    residual(L, how, b.data(), minus_one.data(), b.data());
    CHECK(backward_errors(L, how, b.data(), x.data())[0] <= 2 * 0x1p-53);
    const double sum = b[how == How::plain ? std::size_t(n - 1) : 0];
    CHECK(std::fabs(sum - (0.3 * double(n - 1) + 1)) <= 4 * 0x1p-53 * sum);
  }
}
