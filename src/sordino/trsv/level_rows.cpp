#include "sordino/trsv/level_rows.hpp"

#include <algorithm>
#include <numeric>

namespace sordino::trsv {
namespace {

/// Sets begin and columns: `each(visit)` calls visit(row, column, k) with columns in increasing order.
template <class Each>
void list_columns(LevelRows& r, const Each& each) {
  r.begin.assign(std::size_t(r.n) + 1, 0);
  each([&](i32 row, i32, i64) { r.begin[std::size_t(row) + 1]++; });
  std::partial_sum(r.begin.begin(), r.begin.end(), r.begin.begin());
  r.columns.resize(std::size_t(r.begin.back()));
  std::vector<i64> next(r.begin.begin(), r.begin.end() - 1);
  each([&](i32 row, i32 column, i64) { r.columns[std::size_t(next[std::size_t(row)]++)] = column; });
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

LevelRows find_level_rows(const LowerPattern& A) {
  LevelRows r{.direction = Direction::forward, .n = A.n, .order = {}, .level_begin = {}, .begin = {}, .columns = {}};
  std::vector<i32> level(std::size_t(A.n), 0);
  for (i64 j = 0; j < A.n; j++)
    for (i64 k = A.begin[j]; k < A.begin[j + 1]; k++)
      if (i32& below = level[std::size_t(A.rows[k])]; A.rows[k] != j) below = std::max(below, level[std::size_t(j)] + 1);
  sort_by_level(level, r);
  const std::vector<i32> place = places_of(r);
  list_columns(r, [&](const auto& visit) { each_entry(A, r, place, visit); });
  return r;
}

LevelRows transposed(const LevelRows& L) {
  LevelRows r{.direction = Direction::backward, .n = L.n, .order = {}, .level_begin = {}, .begin = {}, .columns = {}};
  std::vector<i32> level(std::size_t(L.n), 0);
  for (i64 p = L.n; p-- > 0;)  // whoever needs a row has a larger place
    for (i64 k = L.begin[std::size_t(p)]; k < L.begin[std::size_t(p) + 1]; k++) {
      i32& above = level[std::size_t(L.order[std::size_t(L.columns[std::size_t(k)])])];
      above = std::max(above, level[std::size_t(L.order[std::size_t(p)])] + 1);
    }
  sort_by_level(level, r);
  const std::vector<i32> place = places_of(r), place_forward = places_of(L);
  list_columns(r, [&](const auto& visit) { each_entry(L, r, place, place_forward, visit); });
  return r;
}

}  // namespace sordino::trsv
