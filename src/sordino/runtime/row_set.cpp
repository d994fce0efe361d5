#include "sordino/runtime/row_set.hpp"

#include <algorithm>
#include <iterator>

namespace sordino {

void RowSet::add(const std::vector<RowRange>& ranges) {
  std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(ranges_), [](RowRange r) { return r.size() > 0; });
}

void RowSet::sort() {
  std::sort(ranges_.begin(), ranges_.end(), [](RowRange a, RowRange b) { return a.begin < b.begin; });
}

bool RowSet::has_all(RowRange rows) const {
  while (rows.size() > 0) {
    const auto after = behind(rows.begin);
    if (after == ranges_.begin() || (after - 1)->end <= rows.begin) return false;
    rows.begin = (after - 1)->end;
  }
  return true;
}

bool RowSet::has_some(RowRange rows) const {
  if (rows.size() <= 0) return false;
  const auto after = behind(rows.begin);
  if (after != ranges_.begin() && (after - 1)->end > rows.begin) return true;
  return after != ranges_.end() && after->begin < rows.end;
}

std::vector<RowRange>::const_iterator RowSet::behind(i32 row) const {
  return std::upper_bound(ranges_.begin(), ranges_.end(), row, [](i32 x, RowRange r) { return x < r.begin; });
}

}  // namespace sordino
