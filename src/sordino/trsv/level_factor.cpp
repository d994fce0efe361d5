#include "sordino/trsv/level_factor.hpp"

#include "sordino/base/error.hpp"

namespace sordino::trsv {

bool is_better_by_rows(const LowerPattern& pattern, const Elimination& elimination, i64 value_bytes) {
  constexpr double enough = 4;
  i64 entries = pattern.n;
  for (i64 j = 0; j < pattern.n; j++)
    for (i64 k = pattern.begin[j]; k < pattern.begin[j + 1]; k++) entries += pattern.rows[k] != j;
  return double(elimination.filled()) * double(value_bytes) > enough * double(entries) * double(value_bytes + 4);
}

template <class V>
LevelFactor<V>::LevelFactor(const TriangleView<V>& L) : unit_(L.unit) {
  validate(L);
  forward_.rows = find_level_rows(L.pattern);
  print_ = print_of(L.pattern);
  fill_forward(L);
}

template <class V>
void LevelFactor<V>::update(const TriangleView<V>& L) {
  check_update(L);
  fill_forward(L);
  if (backward_.rows.n > 0) fill_backward();
}

template <class V>
void LevelFactor<V>::check_update(const TriangleView<V>& L) const {
  validate(L);
  if (L.unit != unit_ || print_of(L.pattern) != print_)
    bad_argument("new values of a triangle must have its pattern, and this is another one");
}

template <class V>
void LevelFactor<V>::prepare(Direction direction) {
  if (direction == Direction::forward || backward_.rows.n > 0) return;
  backward_.rows = transposed(forward_.rows);
  fill_backward();
}

template <class V>
void LevelFactor<V>::fill_forward(const TriangleView<V>& L) {
  const LevelRows& r = forward_.rows;
  const std::vector<i32> place = places_of(r);
  forward_.values.resize(r.columns.size());
  forward_.pivots.assign(std::size_t(r.n), V{1});
  std::vector<i64> next(r.begin.begin(), r.begin.end() - 1);
  each_entry(L.pattern, r, place,
             [&](i32 row, i32, i64 k) { forward_.values[std::size_t(next[std::size_t(row)]++)] = L.values[k]; });
  for (i64 j = 0; j < r.n && !L.unit; j++)
    for (i64 k = L.pattern.begin[j]; k < L.pattern.begin[j + 1]; k++)
      if (L.pattern.rows[k] == j) forward_.pivots[std::size_t(place[std::size_t(j)])] = reciprocal(L.values[k]);
}

template <class V>
void LevelFactor<V>::fill_backward() {
  const LevelRows &r = backward_.rows, &L = forward_.rows;
  const std::vector<i32> place = places_of(r), place_forward = places_of(L);
  backward_.values.resize(r.columns.size());
  backward_.pivots.resize(std::size_t(r.n));
  std::vector<i64> next(r.begin.begin(), r.begin.end() - 1);
  each_entry(L, r, place, place_forward, [&](i32 row, i32, i64 k) {
    backward_.values[std::size_t(next[std::size_t(row)]++)] = forward_.values[std::size_t(k)];
  });
  for (std::size_t k = 0; k < backward_.pivots.size(); k++)
    backward_.pivots[k] = forward_.pivots[std::size_t(place_forward[std::size_t(r.order[k])])];
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
