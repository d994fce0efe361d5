#include "sordino/trsv/substitution.hpp"

#include <algorithm>

namespace sordino::trsv {
namespace {

template <class V>
V quotient(V a, V by) {
  return a / by;
}
template <>
Number quotient(Number a, Number by) {
  return ratio(a, by);
}

/// Entry (j, j), wherever it stands in its column.
template <class V>
V pivot_of(const TriangleView<V>& L, i64 j) {
  if (L.unit) return V{1};
  i64 k = L.pattern.begin[j];
  while (L.pattern.rows[k] != j) k++;
  return L.values[k];
}

}  // namespace

template <class V>
void substitute(const TriangleView<V>& L, How how, const V* b, V* x, i64 columns) {
  const i64 n = L.pattern.n;
  if (x != b) std::copy(b, b + n * columns, x);
  const auto entry = [how](V value) { return how == How::adjoint ? conjugate(value) : value; };
  const auto divide = [&](i64 j) {
    const V pivot = entry(pivot_of(L, j));
    for (i64 c = 0; c < columns; c++) x[j * columns + c] = quotient(x[j * columns + c], pivot);
  };
  // x[to] -= L * x[from], entry by entry of column j below the diagonal
  const auto subtract = [&](i64 j) {
    for (i64 k = L.pattern.begin[j]; k < L.pattern.begin[j + 1]; k++) {
      const i64 i = L.pattern.rows[k];
      if (i == j) continue;
      const V value = entry(L.values[k]);
      V* to = x + (how == How::plain ? i : j) * columns;
      const V* from = x + (how == How::plain ? j : i) * columns;
      for (i64 c = 0; c < columns; c++) to[c] = to[c] - value * from[c];
    }
  };
  for (i64 step = 0; step < n; step++) {
    const i64 j = how == How::plain ? step : n - 1 - step;
    if (how == How::plain) divide(j);
    subtract(j);
    if (how != How::plain) divide(j);
  }
}

template void substitute(const TriangleView<float>&, How, const float*, float*, i64);
template void substitute(const TriangleView<double>&, How, const double*, double*, i64);
template void substitute(const TriangleView<Number>&, How, const Number*, Number*, i64);

}  // namespace sordino::trsv
