#include "sordino/trsv/tiny_pivots.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "sordino/trsv/parts.hpp"

namespace sordino::trsv {

template <class V>
double tiny_part(i64 n) {
  constexpr double rounding = std::is_same_v<V, float> ? 0x1p-24 : 0x1p-53, roundings_of_row = 4;
  return std::min(roundings_of_row * double(n) * rounding, std::sqrt(rounding));
}

namespace {

/// Sizes in the rows and columns of a triangle. [n] of each
struct Sizes {
  explicit Sizes(i64 n) : of_row(std::size_t(n), 0.0), of_column(of_row), pivots(of_row) {}
  std::vector<double> of_row, of_column, pivots;
};

/// The larger one stays, whoever writes at the same time.
void raise(double& most, double size) {
  std::atomic_ref<double> shared(most);
  double seen = shared.load(std::memory_order_relaxed);
  while (size > seen && !shared.compare_exchange_weak(seen, size, std::memory_order_relaxed)) {
  }
}

template <class V>
Sizes sizes_of(const TriangleView<V>& L, int threads) {
  const LowerPattern& p = L.pattern;
  Sizes sizes(p.n);
  in_parts(columns_in_parts(p, threads), threads, [&](i64 begin, i64 end) {
    for (i64 j = begin; j < end; j++)
      for (i64 k = p.begin[j]; k < p.begin[j + 1]; k++) {
        const double size = magnitude(L.values[k]);
        raise(sizes.of_row[std::size_t(p.rows[k])], size);
        sizes.of_column[std::size_t(j)] = std::max(sizes.of_column[std::size_t(j)], size);
        if (p.rows[k] == j) sizes.pivots[std::size_t(j)] = size;
      }
  });
  return sizes;
}

}  // namespace

template <class V>
TinyPivots tiny_pivots(const TriangleView<V>& L, int threads) {
  TinyPivots found;
  if (L.unit) return found;
  const i64 n = L.pattern.n;
  const Sizes sizes = sizes_of(L, threads);
  const double part = tiny_part<V>(n);
  double least = std::numeric_limits<double>::infinity();
  for (i64 j = 0; j < n; j++) {
    const double of_column = sizes.of_column[std::size_t(j)], of_row = sizes.of_row[std::size_t(j)];
    const double pivot = sizes.pivots[std::size_t(j)], most = std::max(of_column, of_row);
    if (!(pivot < part * most)) continue;
    found.count++;
    if (pivot / most >= least) continue;
    least = pivot / most;
    found.row = j, found.pivot = pivot, found.largest = most, found.in_column = of_column >= of_row;
  }
  return found;
}

template double tiny_part<float>(i64);
template double tiny_part<double>(i64);
template double tiny_part<Number>(i64);
template TinyPivots tiny_pivots(const TriangleView<float>&, int);
template TinyPivots tiny_pivots(const TriangleView<double>&, int);
template TinyPivots tiny_pivots(const TriangleView<Number>&, int);

}  // namespace sordino::trsv
