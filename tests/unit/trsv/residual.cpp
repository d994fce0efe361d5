// What is left of a triangular system, and backward errors, by hand and by their definition.
#include "sordino/trsv/residual.hpp"

#include <cmath>

#include "check.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using triangles::Columns;

const Columns two = triangles::columns_of({{1}, {}});  // entries (0, 0), (1, 0), (1, 1)

TriangleView<double> view(const std::vector<double>& values, bool unit = false) { return {two.pattern(), values.data(), unit}; }

}  // namespace

TEST("b - L x, b - L^T x, and both of a unit diagonal, by hand") {
  const std::vector<double> L{2, 3, 4}, b{10, 20, 1, 1}, x{1, 0, 2, 1};  // [row][column]
  std::vector<double> r(4);
  residual(view(L), How::plain, b.data(), x.data(), r.data(), 2);
  CHECK((r == std::vector<double>{8, 20, -10, -3}));
  residual(view(L), How::transposed, b.data(), x.data(), r.data(), 2);
  CHECK((r == std::vector<double>{2, 17, -7, -3}));
  residual(view(L, true), How::plain, b.data(), x.data(), r.data(), 2);
  CHECK((r == std::vector<double>{9, 20, -4, 0}));
}

TEST("L^H has conjugated entries") {
  const std::vector<Number> L{{1, 1}, {0, 2}, {3, 0}}, b{{0, 0}, {0, 0}}, x{{1, 0}, {1, 0}};
  std::vector<Number> r(2);
  residual(TriangleView<Number>{two.pattern(), L.data()}, How::adjoint, b.data(), x.data(), r.data());
  CHECK(r[0].re == -1);
  CHECK(r[0].im == 3);
  CHECK(r[1].re == -3);
  CHECK(r[1].im == 0);
}

TEST("a backward error is the largest |b - L x| / (|L| |x| + |b|), of each column") {
  const std::vector<double> L{2, -3, 4}, b{10, 2, 1, 1}, x{1, 1, 2, 1};
  const auto errors = backward_errors(view(L), How::plain, b.data(), x.data(), 2);
  CHECK(errors[0] == 8.0 / 12);  // row 0; row 1 has |1 + 3 - 8| / (3 + 8 + 1)
  CHECK(errors[1] == 0);
}

TEST("a row of zeros is no error, and what is not finite is an infinite one") {
  const std::vector<double> L{2, 3, 4}, zero{0, 0}, b{2, 3};
  CHECK(backward_errors(view(L), How::plain, zero.data(), zero.data())[0] == 0);
  for (double wrong : {double(NAN), double(INFINITY)}) {
    const std::vector<double> x{1, wrong};
    CHECK(std::isinf(backward_errors(view(L), How::plain, b.data(), x.data())[0]));
  }
  const std::vector<double> off{0, 0};
  CHECK(backward_errors(view(L), How::plain, b.data(), off.data())[0] == 1);
}

TEST("sums of floats are double: the error told is that of x, not of telling it") {
  NOTE(fresh::said());
  fresh::Random random(31);
  const Columns c = triangles::scattered(random, 300, 0.5);
  const auto values = triangles::values_of<float>(c, random);
  const auto x = triangles::vector_of<float>(c.n, random);
  const TriangleView<float> L{c.pattern(), values.data()};
  std::vector<float> zero(x.size()), b(x.size());
  residual(L, How::plain, zero.data(), x.data(), b.data());
  for (float& value : b) value = -value;  // L x, rounded once
  CHECK(backward_errors(L, How::plain, b.data(), x.data())[0] <= 0.5 * std::numeric_limits<float>::epsilon());
}

TEST("any number of threads and of columns finds the same bits, and L 1 is the sum of its rows") {
  NOTE(fresh::said());
  fresh::Random random(32);
  const Columns c = triangles::scattered(random, 1500, 0.02);
  const auto check = [&]<class V>(V) {
    const auto values = triangles::values_of<V>(c, random);
    const auto b = triangles::vector_of<V>(c.n * 4, random), x = triangles::vector_of<V>(c.n * 4, random);
    const TriangleView<V> L{c.pattern(), values.data(), random.whole(0, 1) == 1};
    for (How how : {How::plain, How::transposed, How::adjoint}) {
      std::vector<V> one(b.size()), many(b.size());
      residual(L, how, b.data(), x.data(), one.data(), 4);
      residual(L, how, b.data(), x.data(), many.data(), 4, 3);
      for (std::size_t k = 0; k < b.size(); k++) CHECK(magnitude(one[k] - many[k]) == 0);
      CHECK(backward_errors(L, how, b.data(), x.data(), 4) == backward_errors(L, how, b.data(), x.data(), 4, 3));
      for (const i64 columns : {1, 2}) {  // of the first ones by themselves
        std::vector<V> some, of(std::size_t(c.n * columns));
        for (std::size_t k = 0; k < b.size(); k++)
          if (i64(k) % 4 < columns) some.push_back(b[k]);
        std::vector<V> at;
        for (std::size_t k = 0; k < x.size(); k++)
          if (i64(k) % 4 < columns) at.push_back(x[k]);
        residual(L, how, some.data(), at.data(), of.data(), columns);
        for (i64 i = 0; i < c.n; i++)
          for (i64 k = 0; k < columns; k++)
            CHECK(magnitude(of[std::size_t(i * columns + k)] - one[std::size_t(4 * i + k)]) == 0);
      }
    }
  };
  check(0.0f);
  check(0.0);
  check(Number{});
}
