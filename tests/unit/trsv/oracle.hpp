// Substitution in higher precision, for tests of trsv/.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "sordino/trsv/values.hpp"
#include "unit/trsv/triangles.hpp"

namespace oracle {

using sordino::Complex;
using sordino::i64;
using sordino::trsv::Number;
using Long = Complex<long double>;

inline Long longer(float a) { return {a, 0}; }
inline Long longer(double a) { return {a, 0}; }
inline Long longer(Number a) { return {a.re, a.im}; }

enum class How { plain, transposed, adjoint };

/// L x = b, L^T x = b or L^H x = b by substitution. [n]
template <class V>
std::vector<Long> substituted(const triangles::Columns& c, const std::vector<V>& values, bool unit, const std::vector<V>& b,
                              How how) {
  std::vector<Long> x;
  for (V v : b) x.push_back(longer(v));
  auto entry = [&](i64 k) {
    return how == How::adjoint ? conj(longer(values[std::size_t(k)])) : longer(values[std::size_t(k)]);
  };
  auto pivot = [&](i64 j) {
    for (i64 k = c.begin[std::size_t(j)]; k < c.begin[std::size_t(j) + 1]; k++)
      if (c.rows[std::size_t(k)] == j && !unit) return entry(k);
    return Long{1, 0};
  };
  for (i64 step = 0; step < c.n; step++) {
    const i64 j = how == How::plain ? step : c.n - 1 - step;
    Long& xj = x[std::size_t(j)];
    for (i64 k = c.begin[std::size_t(j)]; how != How::plain && k < c.begin[std::size_t(j) + 1]; k++)
      if (c.rows[std::size_t(k)] != j) xj = xj - entry(k) * x[std::size_t(c.rows[std::size_t(k)])];
    xj = ratio(xj, pivot(j));
    for (i64 k = c.begin[std::size_t(j)]; how == How::plain && k < c.begin[std::size_t(j) + 1]; k++)
      if (c.rows[std::size_t(k)] != j)
        x[std::size_t(c.rows[std::size_t(k)])] = x[std::size_t(c.rows[std::size_t(k)])] - entry(k) * xj;
  }
  return x;
}

template <class V>
double tolerance() {
  return std::is_same_v<V, float> ? 2e-4 : 1e-11;
}

/// The largest error of a column of x relative to its largest entry; NaN counts as infinite.
template <class V>
double error_of(const std::vector<V>& x, i64 columns, i64 column, const std::vector<Long>& wanted) {
  long double worst = 0, most = 0;
  for (std::size_t i = 0; i < wanted.size(); i++) {
    const Long off = longer(x[i * std::size_t(columns) + std::size_t(column)]) - wanted[i];
    const long double size = std::sqrt(norm(off));
    worst = size <= worst ? worst : size == size ? size : std::numeric_limits<long double>::infinity();
    most = std::max(most, std::sqrt(norm(wanted[i])));
  }
  return double(worst / most);
}

template <class V>
bool same_bits(const std::vector<V>& a, const std::vector<V>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(V)) == 0;
}

}  // namespace oracle
