// Products of several vectors at once by ranks of an engine: each column has the bits that it has alone, of real and of complex
// matrices, however ranks share them. Vectors are words, interleaved: [rows][columns].
#include <cmath>

#include "check.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"
#include "unit/linalg/products.hpp"

using namespace sordino::hmatrix;

namespace {

constexpr Distribution ways[] = {Distribution::rows, Distribution::leaves, Distribution::grid};

template <class V>
HMatrixOf<V> matrix(int m0, int M) {
  const BuildOptions options{.compression = {.eps = 1e-5}};
  if constexpr (words_of<V> == 1)
    return HMatrix(bem::Laplace(surfaces::sphere(m0, M).view()), options);
  else
    return ComplexHMatrix(bem::Helmholtz(surfaces::sphere(m0, M, 1.0).view(), 2), options);
}

/// H X of so many columns.
template <class V>
std::vector<double> product(Engine& engine, const HMatrixOf<V>& H, const std::vector<double>& X, int columns,
                            Distribution how) {
  const Partition p = balance(H, engine.size());
  auto make = [&](Rank& s) {
    auto single = std::make_unique<HMatrixOperator>(s, H, p, how);
    if (columns > 1) return std::make_unique<HMatrixOperator>(single->of_columns(s, H, p, how, columns));
    return single;
  };
  return product_by(engine, X, false, make).y;
}

template <class V>
std::vector<double> column(const std::vector<double>& all, int c, int columns) {
  constexpr std::size_t words = words_of<V>;
  std::vector<double> one;
  for (std::size_t i = words * std::size_t(c); i < all.size(); i += words * std::size_t(columns))
    one.insert(one.end(), all.begin() + i64(i), all.begin() + i64(i + words));
  return one;
}

template <class F>
void of_both(const F& f) {
  NOTE(fresh::said());
  f(double{});
  f(Number{});
}

}  // namespace

TEST("2, 4 and 8 vectors at once have the bits of each alone, on 1, 2 and 3 ranks that share rows, leaves or a grid") {
  fresh::Random random(160);
  of_both([&]<class V>(V) {
    for (auto [m0, M] : {std::pair{3, 1}, {3, 4}, {5, 7}}) {
      const auto H = matrix<V>(m0, M);
      for (int ranks : {1, 2, 3})
        for (Distribution how : ways)
          for (int columns : {2, 4, 8}) {
            NOTE("n = ", H.size(), ", ", ranks, " ranks, distribution ", int(how), ", ", columns, " vectors");
            HostEngine engine({.ranks = ranks, .timeout = 20});
            const auto X = random.normals(i64(words_of<V>) * columns * H.size()), Y = product(engine, H, X, columns, how);
            for (int c = 0; c < columns; c++)
              CHECK(same_bits(column<V>(Y, c, columns), product(engine, H, column<V>(X, c, columns), 1, how)));
          }
    }
  });
}

TEST("the transpose of an H-matrix is one: its products by ranks are those of what is stored, transposed") {
  fresh::Random random(163);
  of_both([&]<class V>(V) {
    constexpr int w = words_of<V>;
    for (auto [m0, M] : {std::pair{3, 1}, {3, 4}, {5, 7}}) {
      const auto H = matrix<V>(m0, M);
      const HMatrixOf<V> T(H, Transposed{});
      const auto all = dense::of(H), turned = dense::of(T);
      const auto n = std::size_t(H.size());
      bool same = true;
      for (std::size_t i = 0; i < n; i++)
        for (std::size_t j = 0; j < n; j++) same = same && magnitude(turned[j * n + i] - all[i * n + j]) == 0;
      CHECK(same);
      CHECK(T.stored_bytes() == H.stored_bytes());
      const auto X = random.normals(i64(w) * 4 * H.size());
      std::vector<V> x(n), y(n);
      for (Distribution how : ways)
        for (int ranks : {1, 2, 3}) {
          NOTE("n = ", n, ", ", ranks, " ranks, distribution ", int(how), ", words of a value: ", w);
          HostEngine engine({.ranks = ranks, .timeout = 20});
          const auto Y = product(engine, T, X, 4, how);
          for (int c = 0; c < 4; c++) {
            const auto from = column<V>(X, c, 4), to = column<V>(Y, c, 4);
            std::copy(from.begin(), from.end(), words(x.data()));
            std::copy(to.begin(), to.end(), words(y.data()));
            std::vector<V> exact(n);
            for (std::size_t i = 0; i < n; i++)
              for (std::size_t j = 0; j < n; j++) exact[j] = exact[j] + all[i * n + j] * x[i];
            CHECK(dense::distance(y, exact) <= 1e-13 * dense::norm(exact));
          }
        }
    }
  });
}

TEST("the model multiplies several vectors by a transpose with the bits of the host, in any order of events") {
  fresh::Random random(161);
  of_both([&]<class V>(V) {
    const HMatrixOf<V> H(matrix<V>(5, 6), Transposed{});
    const auto X = random.normals(i64(words_of<V>) * 4 * H.size());
    for (Distribution how : ways) {
      HostEngine host({.ranks = 4, .timeout = 20});
      const auto reference = product(host, H, X, 4, how);
      for (u64 seed = 0; seed < 3; seed++) {
        NOTE("seed = ", seed, ", distribution ", int(how));
        model::Options o;
        o.ranks = 4;
        o.seed = seed;
        o.machine.jitter_s = 5e-6;
        model::ModelEngine engine(o);
        CHECK(same_bits(product(engine, H, X, 4, how), reference));
      }
    }
  });
}

TEST("a column of NaN leaves the others as they are") {
  fresh::Random random(162);
  of_both([&]<class V>(V) {
    const auto H = matrix<V>(4, 5);
    auto X = random.normals(i64(words_of<V>) * 2 * H.size());
    HostEngine engine({.ranks = 2, .timeout = 20});
    const auto Y = product(engine, H, X, 2, Distribution::grid);
    for (std::size_t i = 0; i < X.size(); i += 2 * words_of<V>) X[i] = std::nan("");
    const auto spoilt = product(engine, H, X, 2, Distribution::grid);
    CHECK(same_bits(column<V>(spoilt, 1, 2), column<V>(Y, 1, 2)));
    const auto first = column<V>(spoilt, 0, 2);
    for (std::size_t i = 0; i < first.size(); i += words_of<V>) CHECK(std::isnan(first[i]));
  });
}

TEST("several vectors share the single one's values, and what they cannot do is said") {
  const auto H = matrix<double>(5, 6);
  HostEngine engine({.ranks = 2, .timeout = 20});
  engine.run([&](Rank& s) {
    const Partition p = balance(H, 2);
    const HMatrixOperator single(s, H, p);
    CHECK(single.most_columns() == 8);
    const auto eight = single.of_columns(s, H, p, Distribution::rows, 8);
    CHECK(s.space(eight.space()).rows == 8 * p.rows(s.id()));
    CHECK(eight.bytes() == single.bytes());
    Vec x = eight.operand(s, "x"), y = eight.result(s, "y");
    CHECK_THROWS(eight.apply(s, x, y, start(dot(x, y) >> s.scalar("(x,y)"))), Error, "takes no dot products");
    CHECK_THROWS(single.of_columns(s, H, p, Distribution::rows, 3), Error, "1, 2, 4 or 8 vectors at once, not 3");
  });
  CHECK(countable_columns(i64(1) << 27, 1) == 8);
  CHECK(countable_columns(i64(1) << 28, 1) == 4);
  CHECK(countable_columns(i64(1) << 28, 2) == 2);
  CHECK(countable_columns(i64(1) << 30, 2) == 1);
}
