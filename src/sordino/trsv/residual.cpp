#include "sordino/trsv/residual.hpp"

#include <algorithm>
#include <limits>

namespace sordino::trsv {
namespace {

template <class V>
struct Sums {
  using Type = V;
};
template <>
struct Sums<float> {
  using Type = double;
};

/// Calls entry(row, column, value) for each entry of L, L^T or L^H.
template <class V, class Entry>
void each_entry(const TriangleView<V>& L, How how, const Entry& entry) {
  for (i64 j = 0; j < L.pattern.n; j++) {
    if (L.unit) entry(j, j, V{1});
    for (i64 k = L.pattern.begin[j]; k < L.pattern.begin[j + 1]; k++) {
      const i64 i = L.pattern.rows[k];
      if (L.unit && i == j) continue;
      if (how == How::plain)
        entry(i, j, L.values[k]);
      else
        entry(j, i, how == How::adjoint ? conjugate(L.values[k]) : L.values[k]);
    }
  }
}

/// b - L x, [n][columns]
template <class V>
std::vector<typename Sums<V>::Type> left_over(const TriangleView<V>& L, How how, const V* b, const V* x, i64 columns) {
  using S = typename Sums<V>::Type;
  std::vector<S> r(b, b + L.pattern.n * columns);
  each_entry(L, how, [&](i64 i, i64 j, V value) {
    for (i64 c = 0; c < columns; c++)
      r[std::size_t(i * columns + c)] = r[std::size_t(i * columns + c)] - S(value) * S(x[j * columns + c]);
  });
  return r;
}

}  // namespace

template <class V>
void residual(const TriangleView<V>& L, How how, const V* b, const V* x, V* r, i64 columns) {
  const auto left = left_over(L, how, b, x, columns);
  std::transform(left.begin(), left.end(), r, [](auto value) { return V(value); });
}

template <class V>
std::vector<double> backward_errors(const TriangleView<V>& L, How how, const V* b, const V* x, i64 columns) {
  const auto left = left_over(L, how, b, x, columns);
  std::vector<double> most(left.size());
  for (std::size_t k = 0; k < most.size(); k++) most[k] = magnitude(b[k]);
  each_entry(L, how, [&](i64 i, i64 j, V value) {
    for (i64 c = 0; c < columns; c++) most[std::size_t(i * columns + c)] += magnitude(value) * magnitude(x[j * columns + c]);
  });
  std::vector<double> errors(std::size_t(columns), 0.0);
  for (std::size_t k = 0; k < most.size(); k++) {
    const double off = magnitude(left[k]);
    double& error = errors[k % std::size_t(columns)];
    if (off != 0) error = std::max(error, off <= most[k] * std::numeric_limits<double>::max() ? off / most[k] : INFINITY);
    if (!is_finite(x[k])) error = INFINITY;
  }
  return errors;
}

#define SORDINO_RESIDUALS(V)                                                        \
  template void residual(const TriangleView<V>&, How, const V*, const V*, V*, i64); \
  template std::vector<double> backward_errors(const TriangleView<V>&, How, const V*, const V*, i64);
SORDINO_RESIDUALS(float)
SORDINO_RESIDUALS(double)
SORDINO_RESIDUALS(Number)
#undef SORDINO_RESIDUALS

}  // namespace sordino::trsv
