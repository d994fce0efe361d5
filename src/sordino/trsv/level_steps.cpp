#include "sordino/trsv/level_steps.hpp"

#include <algorithm>

namespace sordino::trsv {
namespace {

template <bool conjugated, class V>
V entry(V a) {
  if constexpr (conjugated)
    return conjugate(a);
  else
    return a;
}

/// The sum of count products with column r of x.
template <bool conjugated, class V>
V sum_of_row(const V* values, const i32* places, i32 count, const V* x, i64 columns, i64 r) {
  auto product = [&](i32 e) { return entry<conjugated>(values[e]) * x[places[e] * columns + r]; };
  if (count <= long_row) {
    V sum{};
    for (i32 e = 0; e < count; e++) sum = sum + product(e);
    return sum;
  }
  V sums[sums_of_long_row] = {};
  for (i32 first = 0; first < count; first += sums_of_long_row)
    for (i32 k = 0; k < std::min(sums_of_long_row, count - first); k++) sums[k] = sums[k] + product(first + k);
  for (i32 half = sums_of_long_row / 2; half > 0; half /= 2)
    for (i32 k = 0; k < half; k++) sums[k] = sums[k] + sums[k + half];
  return sums[0];
}

template <bool conjugated, class V>
void substitute(const LevelFactor<V>& factor, const Task& t, Direction direction, const LevelVectors<V>& v) {
  const LevelRows& rows = factor.rows(direction);
  const V *const values = factor.values(direction), *const pivots = factor.pivots(direction);
  for (i64 k = t.first; k < t.end; k++) {
    constexpr i64 ahead = 24;  // rows; theirs of b are far from each other
    if (k + ahead < rows.n) __builtin_prefetch(v.b + rows.order[std::size_t(k + ahead)] * v.columns);
    const i64 begin = rows.begin[std::size_t(k)], row = rows.order[std::size_t(k)];
    const V pivot = entry<conjugated>(pivots[k]);
    for (i64 r = 0; r < v.columns; r++) {
      const V sum = sum_of_row<conjugated>(values + begin, rows.columns.data() + begin, rows.count(k), v.x, v.columns, r);
      v.x[k * v.columns + r] = (v.b[row * v.columns + r] - sum) * pivot;
    }
  }
}

}  // namespace

template <class V>
void substitute(const LevelFactor<V>& factor, const Task& t, Direction direction, bool conjugate, const LevelVectors<V>& v) {
  conjugate ? substitute<true>(factor, t, direction, v) : substitute<false>(factor, t, direction, v);
}

template void substitute(const LevelFactor<float>&, const Task&, Direction, bool, const LevelVectors<float>&);
template void substitute(const LevelFactor<double>&, const Task&, Direction, bool, const LevelVectors<double>&);
template void substitute(const LevelFactor<Number>&, const Task&, Direction, bool, const LevelVectors<Number>&);

}  // namespace sordino::trsv
