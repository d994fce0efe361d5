#include "sordino/trsv/level_rows.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "sordino/trsv/parts.hpp"
#include "sordino/trsv/values.hpp"

namespace sordino::trsv {
namespace {

/// visit(list, k) for all entries k off the diagonal, by threads of which one has all of a number, list by list.
template <class Visit>
void each_by_numbers(const LowerPattern& lists, const std::vector<i64>& cuts, int threads, const Visit& visit) {
  in_parts(cuts, threads, [&](i64 first, i64 end) {
    for (i64 j = 0; j < lists.n; j++)
      each_between(lists, lists.begin[j], lists.begin[j + 1], first, end, [&](i64 k) {
        if (lists.rows[k] != j) visit(j, k);
      });
  });
}

/// Columns of a row increase from now on, and each has its value beside it.
template <class V>
void sort_row(i32* columns, V* values, i64 count) {
  if (std::is_sorted(columns, columns + count)) return;
  if (count <= long_row) {
    for (i64 k = 1; k < count; k++)
      for (i64 e = k; e > 0 && columns[e] < columns[e - 1]; e--)
        std::swap(columns[e], columns[e - 1]), std::swap(values[e], values[e - 1]);
    return;
  }
  std::vector<std::pair<i32, V>> row;
  for (i64 k = 0; k < count; k++) row.emplace_back(columns[k], values[k]);
  std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (i64 k = 0; k < count; k++) std::tie(columns[k], values[k]) = row[std::size_t(k)];
}

}  // namespace

void sort_by_level(const std::vector<i32>& level, LevelRows& r) {
  const i32 levels = *std::max_element(level.begin(), level.end()) + 1;
  r.level_begin.assign(std::size_t(levels) + 1, 0);
  for (i32 l : level) r.level_begin[std::size_t(l) + 1]++;
  std::partial_sum(r.level_begin.begin(), r.level_begin.end(), r.level_begin.begin());
  std::vector<i32> next(r.level_begin.begin(), r.level_begin.end() - 1);
  r.order.resize(level.size());
  for (std::size_t i = 0; i < level.size(); i++) r.order[std::size_t(next[std::size_t(level[i])]++)] = i32(i);
}

std::vector<i32> places_of(const LevelRows& rows) {
  std::vector<i32> place(rows.order.size());
  for (std::size_t k = 0; k < place.size(); k++) place[std::size_t(rows.order[k])] = i32(k);
  return place;
}

LevelRows ordered_rows(const LowerPattern& A) {
  LevelRows r{.direction = Direction::forward, .n = A.n, .order = {}, .level_begin = {}, .begin = {}, .columns = {}};
  std::vector<i32> level(std::size_t(A.n), 0);
  for (i64 j = 0; j < A.n; j++)
    for (i64 k = A.begin[j]; k < A.begin[j + 1]; k++)
      if (i32& below = level[std::size_t(A.rows[k])]; A.rows[k] != j) below = std::max(below, level[std::size_t(j)] + 1);
  sort_by_level(level, r);
  return r;
}

LevelRows ordered_rows_back(const LevelRows& L) {
  LevelRows r{.direction = Direction::backward, .n = L.n, .order = {}, .level_begin = {}, .begin = {}, .columns = {}};
  std::vector<i32> level(std::size_t(L.n), 0);  // of places of L, and then of rows
  for (i64 p = L.n; p-- > 0;)                   // whoever needs a row has a larger place
    for (i64 k = L.begin[std::size_t(p)]; k < L.begin[std::size_t(p) + 1]; k++) {
      i32& above = level[std::size_t(L.columns[std::size_t(k)])];
      above = std::max(above, level[std::size_t(p)] + 1);
    }
  std::vector<i32> of_row(level.size());
  for (std::size_t p = 0; p < level.size(); p++) of_row[std::size_t(L.order[p])] = level[p];
  sort_by_level(of_row, r);
  return r;
}

template <class V>
void take_entries(LevelRows& r, const LowerPattern& lists, const std::vector<i32>& place, const V* from, LargeArray<V>& to,
                  int threads) {
  const auto row_of = [&](i64 k) { return std::size_t(place[std::size_t(lists.rows[k])]); };
  const std::vector<i64> cuts = rows_in_parts(lists, threads);
  r.begin.assign(std::size_t(r.n) + 1, 0);
  each_by_numbers(lists, cuts, threads, [&](i64, i64 k) { r.begin[row_of(k) + 1]++; });
  std::partial_sum(r.begin.begin(), r.begin.end(), r.begin.begin());
  r.columns.resize(std::size_t(r.begin.back()));
  if (to.size() != r.columns.size()) to = LargeArray<V>(r.columns.size());
  std::vector<i64> next(r.begin.begin(), r.begin.end() - 1);
  each_by_numbers(lists, cuts, threads, [&](i64 list, i64 k) {
    const std::size_t at = std::size_t(next[row_of(k)]++);
    r.columns[at] = place[std::size_t(list)], to[at] = from[k];
  });
  for_parts(
      0, r.n,
      [&](i64 begin, i64 end) {
        for (i64 row = begin; row < end; row++) {
          const i64 first = r.begin[std::size_t(row)];
          sort_row(r.columns.data() + first, to.data() + first, r.count(row));
        }
      },
      1 << 14, threads);
}

template void take_entries(LevelRows&, const LowerPattern&, const std::vector<i32>&, const float*, LargeArray<float>&, int);
template void take_entries(LevelRows&, const LowerPattern&, const std::vector<i32>&, const double*, LargeArray<double>&, int);
template void take_entries(LevelRows&, const LowerPattern&, const std::vector<i32>&, const Number*, LargeArray<Number>&, int);

}  // namespace sordino::trsv
