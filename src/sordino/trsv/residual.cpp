#include "sordino/trsv/residual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "sordino/trsv/entries.hpp"

namespace sordino::trsv {
namespace {

/// What is left of numbers from which products are taken, one by one, and the sum of all their sizes. What each difference
/// loses is kept beside it (Knuth, The Art of Computer Programming 2, 4.2.2, theorem B), so that only products are rounded.
struct Left {
  std::vector<double> sum, lost, size;
  double value(std::size_t k) const { return sum[k] + lost[k]; }
};

inline void subtract(double product, double& sum, double& lost) {
  const double next = sum - product, taken = next - sum;
  lost += (sum - (next - taken)) - (product + taken);
  sum = next;
}

/// Of a row's numbers, one of each column.
template <class V>
void subtract(V a, const V* x, i64 columns, double* __restrict sum, double* __restrict lost, double* __restrict size) {
  for (i64 c = 0; c < columns; c++) {
    const double product = double(a) * double(x[c]);
    subtract(product, sum[c], lost[c]);
    size[c] += std::fabs(product);
  }
}
/// Sums have a real and an imaginary part.
template <>
void subtract(Number a, const Number* x, i64 columns, double* __restrict sum, double* __restrict lost,
              double* __restrict size) {
  for (i64 c = 0; c < columns; c++) {
    subtract(a.re * x[c].re, sum[2 * c], lost[2 * c]), subtract(-a.im * x[c].im, sum[2 * c], lost[2 * c]);
    subtract(a.re * x[c].im, sum[2 * c + 1], lost[2 * c + 1]), subtract(a.im * x[c].re, sum[2 * c + 1], lost[2 * c + 1]);
    size[c] += magnitude(a) * magnitude(x[c]);
  }
}

template <class V>
constexpr i64 parts = std::is_same_v<V, Number> ? 2 : 1;

template <class V>
V value_of(const Left& left, std::size_t k) {
  if constexpr (parts<V> == 2)
    return {left.value(2 * k), left.value(2 * k + 1)};
  else
    return V(left.value(k));
}
template <class V>
double magnitude_of(const Left& left, std::size_t k) {
  return parts<V> == 2 ? std::hypot(left.value(2 * k), left.value(2 * k + 1)) : std::fabs(left.value(k));
}

/// b - L x, and |b| + |L| |x|; [n][columns]
template <class V>
Left left_over(const TriangleView<V>& L, How how, const V* b, const V* x, i64 columns, int threads) {
  const i64 count = L.pattern.n * columns;
  Left left{{}, std::vector<double>(std::size_t(parts<V> * count)), {}};
  left.sum.reserve(left.lost.size()), left.size.reserve(std::size_t(count));
  for (i64 k = 0; k < count; k++) {
    if constexpr (parts<V> == 2)
      left.sum.insert(left.sum.end(), {b[k].re, b[k].im});
    else
      left.sum.push_back(double(b[k]));
    left.size.push_back(magnitude(b[k]));
  }
  const auto subtract_all = [&](auto count) {
    each_entry_by_rows(L, how, threads, [&](i64 i, i64 j, V value) {
      const i64 at = i * count;
      subtract(value, x + j * count, count, left.sum.data() + parts<V> * at, left.lost.data() + parts<V> * at,
               left.size.data() + at);
    });
  };
  if (columns == 1)  // a number that the compiler knows
    subtract_all(std::integral_constant<i64, 1>{});
  else if (columns == trial_columns)
    subtract_all(std::integral_constant<i64, trial_columns>{});
  else
    subtract_all(columns);
  return left;
}

}  // namespace

template <class V>
void residual(const TriangleView<V>& L, How how, const V* b, const V* x, V* r, i64 columns, int threads) {
  const Left left = left_over(L, how, b, x, columns, threads);
  for (std::size_t k = 0; k < left.size.size(); k++) r[k] = value_of<V>(left, k);
}

template <class V>
std::vector<double> backward_errors(const TriangleView<V>& L, How how, const V* b, const V* x, i64 columns, int threads) {
  const Left left = left_over(L, how, b, x, columns, threads);
  std::vector<double> errors(std::size_t(columns), 0.0);
  for (std::size_t k = 0; k < left.size.size(); k++) {
    const double off = magnitude_of<V>(left, k);
    double& error = errors[k % std::size_t(columns)];
    const double size = left.size[k];  // infinite: nothing is known of the quotient
    if (off != 0)
      error = std::max(error, size < INFINITY && off <= size * std::numeric_limits<double>::max() ? off / size : INFINITY);
    if (!is_finite(x[k])) error = INFINITY;
  }
  return errors;
}

#define SORDINO_RESIDUALS(V)                                                             \
  template void residual(const TriangleView<V>&, How, const V*, const V*, V*, i64, int); \
  template std::vector<double> backward_errors(const TriangleView<V>&, How, const V*, const V*, i64, int);
SORDINO_RESIDUALS(float)
SORDINO_RESIDUALS(double)
SORDINO_RESIDUALS(Number)
#undef SORDINO_RESIDUALS

}  // namespace sordino::trsv
