#include "sordino/trsv/level_slices.hpp"

#include <algorithm>

namespace sordino::trsv {

i64 LevelSlices::slots() const {
  if (slices_.empty()) return 0;
  const LevelSlice& s = slices_.back();
  return s.entries + i64(s.width) * (s.rows > 0 ? i32(s.rows) : sums_of_long_row);
}

void LevelSlices::add(const LevelRow& row) {
  constexpr i64 few = 64;
  const bool is_long = row.count > long_row;
  auto fits = [&](const LevelSlice& s) {
    return !is_long && s.rows > 0 && s.rows < 32 &&
           std::max<i64>(s.width, row.count) * (s.rows + 1) <= 2 * (in_slice_ + row.count) + few;
  };
  if (slices_.empty() || !fits(slices_.back())) {
    slices_.push_back({.entries = slots(), .first_row = i32(rows_.size())});
    in_slice_ = 0;
  }
  rows_.push_back(row);
  LevelSlice& s = slices_.back();
  s.rows = is_long ? 0 : s.rows + 1;
  s.width = is_long ? u32(row.count + sums_of_long_row - 1) / sums_of_long_row : std::max(u32(s.width), u32(row.count));
  in_slice_ += row.count;
}

}  // namespace sordino::trsv
