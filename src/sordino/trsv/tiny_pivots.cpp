#include "sordino/trsv/tiny_pivots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace sordino::trsv {

template <class V>
double tiny_part(i64 n) {
  constexpr double rounding = std::is_same_v<V, float> ? 0x1p-24 : 0x1p-53, roundings_of_row = 4;
  return std::min(roundings_of_row * double(n) * rounding, std::sqrt(rounding));
}

template <class V>
TinyPivots tiny_pivots(const TriangleView<V>& L) {
  TinyPivots found;
  if (L.unit) return found;
  const LowerPattern& p = L.pattern;
  std::vector<double> of_row(std::size_t(p.n), 0.0), pivots(std::size_t(p.n), 0.0);
  for (i64 j = 0; j < p.n; j++)
    for (i64 k = p.begin[j]; k < p.begin[j + 1]; k++) {
      const double size = magnitude(L.values[k]);
      double& most = of_row[std::size_t(p.rows[k])];
      most = std::max(most, size);
      if (p.rows[k] == j) pivots[std::size_t(j)] = size;
    }
  const double part = tiny_part<V>(p.n);
  double least = std::numeric_limits<double>::infinity();
  for (i64 j = 0; j < p.n; j++) {
    double of_column = 0;
    for (i64 k = p.begin[j]; k < p.begin[j + 1]; k++) of_column = std::max(of_column, magnitude(L.values[k]));
    const double pivot = pivots[std::size_t(j)], most = std::max(of_column, of_row[std::size_t(j)]);
    if (!(pivot < part * most)) continue;
    found.count++;
    if (pivot / most >= least) continue;
    least = pivot / most;
    found.row = j, found.pivot = pivot, found.largest = most, found.in_column = of_column >= of_row[std::size_t(j)];
  }
  return found;
}

template double tiny_part<float>(i64);
template double tiny_part<double>(i64);
template double tiny_part<Number>(i64);
template TinyPivots tiny_pivots(const TriangleView<float>&);
template TinyPivots tiny_pivots(const TriangleView<double>&);
template TinyPivots tiny_pivots(const TriangleView<Number>&);

}  // namespace sordino::trsv
