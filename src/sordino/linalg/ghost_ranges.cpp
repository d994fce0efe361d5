#include "sordino/linalg/ghost_ranges.hpp"

#include <algorithm>

namespace sordino {

GhostRanges::GhostRanges(const std::vector<ColumnRange>& ranges) {
  for (const ColumnRange& range : ranges)
    if (!ranges_.empty() && ranges_.back().end == range.begin)
      ranges_.back().end = range.end;
    else
      ranges_.push_back(range);
  count_up();
}

GhostRanges::GhostRanges(const std::vector<i64>& rows) {
  for (i64 row : rows)
    if (!ranges_.empty() && ranges_.back().end == row)
      ranges_.back().end++;
    else
      ranges_.push_back({row, row + 1});
  count_up();
}

void GhostRanges::count_up() {
  before_.assign(1, 0);
  for (const ColumnRange& range : ranges_) before_.push_back(before_.back() + range.count());
}

i64 GhostRanges::place(i64 row) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), row, [](i64 r, const ColumnRange& x) { return r < x.begin; });
  const auto k = after - ranges_.begin();
  return k == 0 ? 0 : before_[std::size_t(k) - 1] + std::min(row, (after - 1)->end) - (after - 1)->begin;
}

std::vector<i64> GhostRanges::rows() const {
  std::vector<i64> all;
  all.reserve(std::size_t(count()));
  for (const ColumnRange& range : ranges_)
    for (i64 row = range.begin; row < range.end; row++) all.push_back(row);
  return all;
}

}  // namespace sordino
