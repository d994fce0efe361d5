#include "sordino/linalg/columns_outside.hpp"

#include <algorithm>
#include <numeric>

namespace sordino {

ColumnRange columns_outside(i64 offset, i64 n, i64 first, i64 rows) {
  const i64 end = first + rows;
  const i64 from = std::max<i64>(offset < 0 ? first + offset : std::max(end, first + offset), 0);
  const i64 to = std::min(offset < 0 ? std::min(first, end + offset) : end + offset, n);
  return {from, std::max(from, to)};
}

std::vector<ColumnRange> ranges_outside(const Diagonals& diagonals, i64 n, i64 first, i64 rows) {
  std::vector<ColumnRange> all, merged;
  for (i64 offset : diagonals.offsets)
    if (const ColumnRange found = columns_outside(offset, n, first, rows); found.count() > 0) all.push_back(found);
  std::sort(all.begin(), all.end(), [](const ColumnRange& a, const ColumnRange& b) { return a.begin < b.begin; });
  for (const ColumnRange& next : all)
    if (!merged.empty() && next.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, next.end);
    else
      merged.push_back(next);
  return merged;
}

i64 count_outside(const Diagonals& diagonals, i64 n, i64 first, i64 rows) {
  i64 count = 0;
  for (const ColumnRange& range : ranges_outside(diagonals, n, first, rows)) count += range.count();
  return count;
}

std::vector<i64> columns_outside(const Diagonals& diagonals, i64 n, i64 first, i64 rows) {
  std::vector<i64> columns(std::size_t(count_outside(diagonals, n, first, rows)));
  auto to = columns.begin();
  for (const ColumnRange& range : ranges_outside(diagonals, n, first, rows)) {
    std::iota(to, to + range.count(), range.begin);
    to += range.count();
  }
  return columns;
}

}  // namespace sordino
