// Complex H-matrices: what they store against all entries, and their products, on threads and on ranks.
#include <complex>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/hmatrix/host_product.hpp"
#include "sordino/hmatrix/recompression.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"
#include "unit/linalg/products.hpp"

namespace {

using namespace sordino::hmatrix;
using Numbers = std::vector<Number>;

/// rows [n][n] times column c of x [n][columns].
Numbers times(const Numbers& rows, const Numbers& x, int columns, int c, bool transposed) {
  const std::size_t n = x.size() / std::size_t(columns);
  Numbers y(n);
  for (std::size_t i = 0; i < n; i++) {
    long double re = 0, im = 0;
    for (std::size_t j = 0; j < n; j++) {
      const Number a = transposed ? rows[j * n + i] : rows[i * n + j], b = x[j * std::size_t(columns) + std::size_t(c)];
      re += (long double)a.re * b.re - (long double)a.im * b.im;
      im += (long double)a.re * b.im + (long double)a.im * b.re;
    }
    y[i] = {double(re), double(im)};
  }
  return y;
}

Numbers random_numbers(fresh::Random& random, i64 n) {
  Numbers v;
  for (i64 i = 0; i < n; i++) v.push_back({random.normal(), random.normal()});
  return v;
}

bem::Helmholtz waves(int m0, int M, double k) { return {surfaces::sphere(m0, M, 1.0).view(), k}; }

ComplexHMatrix matrix(int m0, int M, double eps) { return {waves(m0, M, 3), {.compression = {.eps = eps}}}; }

/// H x by all ranks of an engine, as words.
std::vector<double> product(Engine& engine, const ComplexHMatrix& H, const std::vector<double>& x,
                            Distribution how = Distribution::rows) {
  const Partition p = balance(H, engine.size());
  return product_by(engine, x, false, [&](Rank& s) { return std::make_unique<HMatrixOperator>(s, H, p, how); }).y;
}

std::vector<double> on_host(const ComplexHMatrix& H, const std::vector<double>& x, int ranks,
                            Distribution how = Distribution::rows) {
  HostEngine engine({.ranks = ranks, .timeout = 20});
  return product(engine, H, x, how);
}

}  // namespace

TEST("the error of a complex matrix is below eps whichever approximation, and estimated to a tenth or three standard errors") {
  for (double k : {0.5, 6.0}) {
    const bem::Helmholtz generator = waves(5, 8, k);
    const Numbers exact = dense::of(generator, ClusterTree(generator.points(), generator.size(), 15));
    for (double eps : {1e-2, 1e-5, 1e-8})
      for (auto kind : {Approximation::aca, Approximation::aca_plus, Approximation::full}) {
        const ComplexHMatrix H(generator, {.compression = {.eps = eps, .approximation = kind}, .probes = 100});
        const double found = dense::distance(dense::of(H), exact) / dense::norm(exact), said = H.statistics().compression_error;
        NOTE("k = ", k, ", eps = ", eps, ", approximation ", int(kind));
        CHECK(found <= eps);
        CHECK(found > 0);
        CHECK_NEAR(said, found, 0.1 * found + 3 * H.statistics().error_of_estimate);
        CHECK_NEAR(H.statistics().norm, dense::norm(dense::of(H)), 1e-12 * H.statistics().norm);
        CHECK(H.stored_bytes() == 16 * H.statistics().stored_values);
      }
  }
}

TEST("recompression of complex sums leaves out what it says, and its terms are orthogonal") {
  NOTE(fresh::said());
  fresh::Random random(130);
  constexpr i32 height = 40, width = 31, rank = 12;
  LowRank<Number> sum(height, width);
  for (i32 k = 0; k < rank; k++) {
    const double scale = std::pow(10.0, -k);
    Numbers u = random_numbers(random, height);
    for (Number& x : u) x = x * scale;
    sum.append(u, random_numbers(random, width));
  }
  const LowRank<Number> before = sum;
  const double norm = std::sqrt(before.norm_squared()), left_out = std::sqrt(recompress(sum, 1e-5 * norm));
  Numbers off, all;
  for (i32 i = 0; i < height; i++)
    for (i32 j = 0; j < width; j++) {
      all.push_back(before.entry(i, j));
      off.push_back(before.entry(i, j) - sum.entry(i, j));
    }
  CHECK_NEAR(dense::norm(all), norm, 1e-13 * norm);
  CHECK(left_out <= 1e-5 * norm);
  CHECK_NEAR(dense::norm(off), left_out, 1e-13 * norm);
  CHECK(sum.rank < rank);
  CHECK(sum.rank > 3);
  double last = HUGE_VAL;
  for (i32 k = 0; k < sum.rank; k++) {
    double singular = 0;
    for (i32 i = 0; i < height; i++) singular += squared(sum.u_of(k)[i]);
    CHECK(singular <= last);
    last = singular;
    for (i32 l = 0; l < sum.rank; l++) {
      Number uu, vv;
      for (i32 i = 0; i < height; i++) uu = uu + conj(sum.u_of(k)[i]) * sum.u_of(l)[i];
      for (i32 j = 0; j < width; j++) vv = vv + conj(sum.v_of(k)[j]) * sum.v_of(l)[j];
      CHECK_NEAR(magnitude(vv - Number{k == l ? 1.0 : 0.0, 0}), 0, 1e-13);
      if (k != l) CHECK_NEAR(magnitude(uu), 0, 1e-13 * norm * norm);
    }
  }
}

TEST("products and transposed products of 1, 3, 8 and 11 complex vectors are those of what is stored") {
  NOTE(fresh::said());
  fresh::Random random(131);
  for (auto [m0, M] : {std::pair{3, 1}, {4, 5}, {7, 8}}) {
    const ComplexHMatrix H = matrix(m0, M, 1e-5);
    const HostProductOf<Number> whole(H);
    const Numbers all = dense::of(H);
    for (int columns : {1, 3, 8, 11})
      for (bool transposed : {false, true}) {
        NOTE("n = ", H.size(), ", ", columns, " vectors, transposed ", transposed);
        const Numbers x = random_numbers(random, H.size() * columns);
        Numbers y(x.size());
        whole.multiply(x.data(), y.data(), columns, transposed);
        for (int c = 0; c < columns; c++) {
          Numbers column;
          for (std::size_t i = std::size_t(c); i < y.size(); i += std::size_t(columns)) column.push_back(y[i]);
          const Numbers exact = times(all, x, columns, c, transposed);
          CHECK(dense::distance(column, exact) <= 1e-14 * dense::norm(exact));
        }
      }
  }
}

TEST("distributed products of a complex matrix are those of what is stored, and the same bits on 1, 2, 3 and 7 ranks") {
  NOTE(fresh::said());
  fresh::Random random(132);
  for (auto [m0, M] : {std::pair{3, 1}, {3, 4}, {7, 9}}) {
    const ComplexHMatrix H = matrix(m0, M, 1e-5);
    const auto x = random.normals(2 * H.size());
    const auto reference = on_host(H, x, 1);
    Numbers from, found;
    for (std::size_t i = 0; i < x.size(); i += 2)
      from.push_back({x[i], x[i + 1]}), found.push_back({reference[i], reference[i + 1]});
    NOTE("n = ", H.size());
    CHECK(dense::distance(found, times(dense::of(H), from, 1, 0, false)) <= 1e-14 * dense::norm(found));
    for (int ranks : {2, 3, 7}) {
      if (ranks > H.size()) continue;
      NOTE("ranks = ", ranks);
      CHECK(same_bits(on_host(H, x, ranks), reference));
      for (Distribution how : {Distribution::leaves, Distribution::grid})
        CHECK(dense::distance(on_host(H, x, ranks, how), reference) <= 1e-14 * dense::norm(reference));
    }
    for (u64 seed = 0; seed < 3; seed++) {
      model::Options o;
      o.ranks = 4;
      o.seed = seed;
      o.machine.jitter_s = 5e-6;
      model::ModelEngine engine(o);
      if (H.size() >= 4) CHECK(same_bits(product(engine, H, x), reference));
    }
  }
}

TEST("conjugated dot products of a complex product's result are those of the vectors") {
  NOTE(fresh::said());
  fresh::Random random(133);
  const ComplexHMatrix H = matrix(5, 6, 1e-5);
  const auto x = random.normals(2 * H.size());
  const auto y = on_host(H, x, 1);
  HostEngine engine({.ranks = 3, .timeout = 20});
  engine.run([&](Rank& s) {
    HMatrixOperator op(s, H, balance(H, 3));
    CHECK(s.space(op.space()).numbers >= 0);
    Vec from = op.operand(s, "x"), to = op.result(s, "y");
    Scal re = s.scalar("Re (x,y)"), im = s.scalar("Im (x,y)");
    auto apply = s.record([&] {
      s.run(Nothing{}, push(from));
      op.apply(s, from, to, start(dot(to, from) >> re, dot(to, from, Turn::by_i) >> im));
      s.wait(re);
    });
    s.write(from, x.data() + s.space(op.space()).first_row);
    s.replay(apply);
    std::complex<long double> sum;
    for (std::size_t i = 0; i < x.size(); i += 2)
      sum += std::conj(std::complex<long double>(x[i], x[i + 1])) * std::complex<long double>(y[i], y[i + 1]);
    const double largest = 1e-13 * double(std::abs(sum)) + 1e-14 * double(x.size());
    CHECK_NEAR(s.get(re), double(sum.real()), largest);
    CHECK_NEAR(s.get(im), double(sum.imag()), largest);
  });
}

TEST("a complex H-matrix that was written comes back to the bit") {
  const bem::Helmholtz generator = waves(5, 7, 2);
  const ComplexHMatrix H(generator, {.compression = {.eps = 1e-5}});
  Numbers file;
  H.write([&](const Number* from, i64 count) { file.insert(file.end(), from, from + count); });
  CHECK(i64(file.size()) == H.statistics().stored_values);
  std::size_t at = 0;
  auto read = [&](Number* to, i64 count) {
    std::copy_n(file.begin() + std::ptrdiff_t(at), count, to);
    at += std::size_t(count);
  };
  const ComplexHMatrix again(generator.points(), generator.size(), 2.0, 15, H.outline(), read);
  CHECK(dense::distance(dense::of(again), dense::of(H)) == 0);
  CHECK(again.statistics().norm == H.statistics().norm);
}

TEST("a complex H-matrix has no gathered product, and says so") {
  const ComplexHMatrix H = matrix(3, 3, 1e-3);
  HostEngine engine({.ranks = 1});
  auto gather = [&] { engine.run([&](Rank& s) { HMatrixOperator::gathered(s, H, balance(H, 1)); }); };
  CHECK_THROWS(gather(), sordino::Error, "complex matrices have no product that gathers whole vectors");
}
