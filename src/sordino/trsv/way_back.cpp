#include "sordino/trsv/way_back.hpp"

#include <algorithm>
#include <utility>

namespace sordino::trsv {
namespace {

i64 values_in(const Block& b, StripRange strips) {
  i64 values = 0;
  for (i32 k = strips.first; k < strips.end; k++) values += strip_of(b, k).size();
  return values;
}

/// From the first strip that has not only rows of own columns to the last one that has a column of the parent; to the last
/// strip, if the block is small or a root.
StripRange near_strips(const Blocks& all, i32 k, i64 part_values) {
  const Block& b = all.blocks[std::size_t(k)];
  const i32 above = all.parent[std::size_t(k)], own = b.width / b.strip_rows;
  if (above == no_parent || values_in(b, {0, b.strips()}) <= part_values) return {own, b.strips()};
  const Block& parent = all.blocks[std::size_t(above)];
  const i32* const rows = all.rows.data() + b.rows;
  const i32 end = i32(std::lower_bound(rows + b.width, rows + b.front, parent.column + parent.width) - rows);
  return {own, (end + b.strip_rows - 1) / b.strip_rows};
}

/// Parts of strips that lie in a row; behind so many values of others one has up to most_values(those).
template <class MostValues>
void add_parts(Blocks& all, const Block& b, StripRange strips, const MostValues& most_values) {
  StripRange part{strips.first, strips.first};
  i64 before = 0, values = 0;
  for (i32 k = strips.first; k < strips.end; k++) {
    part.end = k + 1;
    values += strip_of(b, k).size();
    if (part.end < strips.end && values + strip_of(b, k + 1).size() <= most_values(before) &&
        (part.end + 1 - part.first) * b.strip_rows <= most_rows_of_part)
      continue;
    all.parts.push_back(part);
    all.partial.push_back(all.partials);
    all.partials += b.width;
    part.first = part.end;
    before += std::exchange(values, 0);
  }
}

}  // namespace

void find_parts(Blocks& all, i64 part_values) {
  all.part_begin.push_back(0);
  for (i32 k = 0; k < all.count(); k++) {
    const Block& b = all.blocks[std::size_t(k)];
    const StripRange near = near_strips(all, k, part_values), own{0, near.first}, far{near.end, b.strips()};
    const i64 most = std::max(remote_part * part_values, values_in(b, far) / most_parts);
    all.near.push_back(near);
    add_parts(all, b, own, [&](i64) { return std::min<i64>(part_values, most_of_strip); });
    add_parts(all, b, far, [&](i64 before) { return std::clamp(before / share_of_distance, part_values, most); });
    all.part_begin.push_back(i32(all.parts.size()));
  }
}

i64 near_values_of_column(const Blocks& blocks, i32 k) {
  const StripRange near = blocks.near[std::size_t(k)];
  i64 values = 0;
  for (i32 s = near.first; s < near.end; s++) values += strip_of(blocks.blocks[std::size_t(k)], s).lead;
  return values;
}

i32 part_of(const Blocks& blocks, i32 k, i32 first_strip) {
  const auto begin = blocks.parts.begin() + blocks.part_begin[std::size_t(k)],
             end = blocks.parts.begin() + blocks.part_begin[std::size_t(k) + 1];
  const auto found =
      std::lower_bound(begin, end, first_strip, [](const StripRange& part, i32 first) { return part.first < first; });
  return found == end || found->first != first_strip ? -1 : i32(found - blocks.parts.begin());
}

}  // namespace sordino::trsv
