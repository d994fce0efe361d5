#include "sordino/trsv/level_factor.hpp"

#include "sordino/base/error.hpp"
#include "sordino/trsv/parts.hpp"

namespace sordino::trsv {

i64 most_filled(const LowerPattern& pattern, i64 value_bytes) {
  constexpr i64 enough = 4;
  i64 entries = pattern.n;
  for (i64 j = 0; j < pattern.n; j++)
    if (pattern.sorted)
      entries += pattern.begin[j + 1] - pattern.below(j);
    else
      for (i64 k = pattern.begin[j]; k < pattern.begin[j + 1]; k++) entries += pattern.rows[k] != j;
  return enough * entries * (value_bytes + 4) / value_bytes;
}

template <class V>
LevelFactor<V>::LevelFactor(const TriangleView<V>& given, const FactorOptions& options)
    : unit_(given.unit), threads_(options.threads) {
  const TriangleView<V> L = options.is_valid ? given : validated(given, threads_);
  forward_.rows = ordered_rows(L.pattern);
  print_ = options.print ? options.print : print_of(L.pattern, threads_);
  fill_forward(L);
}

template <class V>
void LevelFactor<V>::update(const TriangleView<V>& given) {
  const TriangleView<V> L = checked_update(given);
  fill_forward(L);
  if (backward_.rows.n > 0) fill_backward();
}

template <class V>
TriangleView<V> LevelFactor<V>::checked_update(const TriangleView<V>& given) const {
  const TriangleView<V> L = validated(given, threads_);
  if (L.unit != unit_ || print_of(L.pattern, threads_) != print_)
    bad_argument("new values of a triangle must have its pattern, and this is another one");
  return L;
}

template <class V>
void LevelFactor<V>::prepare(Direction direction) {
  if (direction == Direction::forward || backward_.rows.n > 0) return;
  backward_.rows = ordered_rows_back(forward_.rows);
  fill_backward();
}

template <class V>
void LevelFactor<V>::fill_forward(const TriangleView<V>& L) {
  LevelRows& r = forward_.rows;
  const std::vector<i32> place = places_of(r);
  take_entries(r, L.pattern, place, L.values, forward_.values, threads_);
  forward_.pivots.assign(std::size_t(r.n), V{1});
  if (L.unit) return;
  in_parts(columns_in_parts(L.pattern, threads_), threads_, [&](i64 begin, i64 end) {
    for (i64 j = begin; j < end; j++)
      for (i64 k = L.pattern.begin[j]; k < L.pattern.begin[j + 1]; k++)
        if (L.pattern.rows[k] == j) forward_.pivots[std::size_t(place[std::size_t(j)])] = reciprocal(L.values[k]);
  });
}

template <class V>
void LevelFactor<V>::fill_backward() {
  LevelRows& r = backward_.rows;
  const LevelRows& L = forward_.rows;
  std::vector<i32> place(L.order.size());  // of a place of L
  const std::vector<i32> of_row = places_of(r);
  for (std::size_t p = 0; p < place.size(); p++) place[p] = of_row[std::size_t(L.order[p])];
  take_entries(r, {.n = L.n, .begin = L.begin.data(), .rows = L.columns.data(), .sorted = true}, place, forward_.values.data(),
               backward_.values, threads_);
  backward_.pivots.resize(std::size_t(r.n));
  for (std::size_t p = 0; p < place.size(); p++) backward_.pivots[std::size_t(place[p])] = forward_.pivots[p];
}

template <class V>
i64 LevelFactor<V>::value_bytes() const {
  i64 sum = 0;
  for (const Way* w : {&forward_, &backward_}) sum += i64((w->values.size() + w->pivots.size()) * sizeof(V));
  return sum;
}

template <class V>
i64 LevelFactor<V>::table_bytes() const {
  i64 sum = 0;
  for (const Way* w : {&forward_, &backward_})
    sum += i64((w->rows.order.size() + w->rows.level_begin.size() + w->rows.columns.size()) * sizeof(i32) +
               w->rows.begin.size() * sizeof(i64));
  return sum;
}

template class LevelFactor<float>;
template class LevelFactor<double>;
template class LevelFactor<Number>;

}  // namespace sordino::trsv
