#include "sordino/hmatrix/row_set.hpp"

#include <algorithm>

namespace sordino::hmatrix {

RowSet RowSet::of(i32 n, const std::vector<RowRange>& ranges) {
  std::vector<i32> opened(std::size_t(n) + 1);  // ranges that begin at a row, less those that end there
  for (RowRange r : ranges) opened[std::size_t(r.begin)]++, opened[std::size_t(r.end)]--;
  RowSet set;
  i32 begin = 0, open = 0;
  for (i32 row = 0; row <= n; row++) {
    const i32 now = open + opened[std::size_t(row)];
    if (open == 0 && now > 0) begin = row;
    if (open > 0 && now == 0) set.add({begin, row});
    open = now;
  }
  return set;
}

RowSet RowSet::without(RowRange rows) const {
  RowSet set;
  for (RowRange r : ranges_) {
    set.add({r.begin, std::min(r.end, rows.begin)});
    set.add({std::max(r.begin, rows.end), r.end});
  }
  return set;
}

i32 RowSet::number(i32 row) const {
  auto before = [](i32 value, RowRange r) { return value < r.begin; };
  const auto k = std::size_t(std::upper_bound(ranges_.begin(), ranges_.end(), row, before) - ranges_.begin()) - 1;
  return before_[k] + (row - ranges_[k].begin);
}

void RowSet::add(RowRange rows) {
  if (rows.size() <= 0) return;
  if (!ranges_.empty() && ranges_.back().end == rows.begin) {
    ranges_.back().end = rows.end;
  } else {
    ranges_.push_back(rows);
    before_.push_back(size_);
  }
  size_ += rows.size();
}

}  // namespace sordino::hmatrix
