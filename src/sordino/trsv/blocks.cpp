#include "sordino/trsv/blocks.hpp"

#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/trsv/way_back.hpp"

namespace sordino::trsv {
namespace {

void place_values(Blocks& all, Block& b) {
  b.strip = i64(all.strips.size());
  for (i32 k = 0; k < b.strips(); k++) {
    all.strips.push_back(all.values);
    all.values += strip_of(b, k).size();
  }
  b.slot = all.slots;
  all.slots += b.height();
}

/// The next block of its supernode, or the first one of the supernode above.
void find_family(Blocks& all, const Supernodes& nodes, const std::vector<i32>& first_of) {
  for (i32 s = 0; s < nodes.count(); s++) {
    const i32 above = nodes.parent[std::size_t(s)];
    for (i32 k = first_of[std::size_t(s)]; k < first_of[std::size_t(s) + 1]; k++)
      all.parent.push_back(k + 1 < first_of[std::size_t(s) + 1] ? k + 1
                           : above == no_parent                 ? no_parent
                                                                : first_of[std::size_t(above)]);
  }
  all.first.resize(all.blocks.size());
  std::iota(all.first.begin(), all.first.end(), 0);
  for (std::size_t k = 0; k < all.first.size(); k++)
    if (all.parent[k] != no_parent) {
      i32& first = all.first[std::size_t(all.parent[k])];
      first = std::min(first, all.first[k]);
    }
}

/// Which slots each row of each front adds up.
void find_sources(Blocks& all) {
  i64 fronts = 0;
  for (Block& b : all.blocks) b.source = std::exchange(fronts, fronts + b.front);
  if (all.slots > std::numeric_limits<i32>::max())
    throw Error(Errc::unsupported, "the triangle has " + std::to_string(all.slots) + " rows below its blocks, more than 2^31");
  std::vector<i32> row_of(std::size_t(all.n));
  std::vector<i64> to(std::size_t(all.slots));  // place of each slot's row among those of all fronts
  std::vector<std::vector<i32>> children(all.blocks.size());
  for (i32 k = 0; k < all.count(); k++)
    if (all.parent[std::size_t(k)] != no_parent) children[std::size_t(all.parent[std::size_t(k)])].push_back(k);
  all.source_begin.assign(std::size_t(fronts) + 1, 0);
  for (i32 p = 0; p < all.count(); p++) {
    const Block& above = all.blocks[std::size_t(p)];
    if (children[std::size_t(p)].empty()) continue;
    for (i32 i = 0; i < above.front; i++) row_of[std::size_t(all.rows[std::size_t(above.rows + i)])] = i;
    for (i32 c : children[std::size_t(p)]) {
      const Block& b = all.blocks[std::size_t(c)];
      for (i32 i = 0; i < b.height(); i++) {
        const i64 place = above.source + row_of[std::size_t(all.rows[std::size_t(b.rows + b.width + i)])];
        to[std::size_t(b.slot + i)] = place;
        all.source_begin[std::size_t(place) + 1]++;
      }
    }
  }
  std::partial_sum(all.source_begin.begin(), all.source_begin.end(), all.source_begin.begin());
  all.sources.resize(std::size_t(all.slots));
  std::vector<i64> next(all.source_begin.begin(), all.source_begin.end() - 1);
  for (std::size_t slot = 0; slot < to.size(); slot++) all.sources[std::size_t(next[std::size_t(to[slot])]++)] = i32(slot);
}

}  // namespace

Blocks cut(const Supernodes& nodes, i32 width, i64 part_values) {
  if (width < 1) bad_argument("blocks of a triangle have one column or more, and " + std::to_string(width) + " was asked for");
  if (part_values < 1) bad_argument("a part of a block's way back has one value or more");
  Blocks all;
  all.n = nodes.n;
  all.order = nodes.order;
  all.entries = nodes.entries();
  std::vector<i32> first_of;  // [supernodes + 1]
  for (i32 s = 0; s < nodes.count(); s++) {
    first_of.push_back(all.count());
    const i32 columns = nodes.width(s), height = nodes.height(s), first = nodes.column[std::size_t(s)];
    const i64 rows = i64(all.rows.size());
    for (i32 j = 0; j < columns; j++) all.rows.push_back(first + j);
    all.rows.insert(all.rows.end(), nodes.rows.begin() + nodes.row_begin[std::size_t(s)],
                    nodes.rows.begin() + nodes.row_begin[std::size_t(s) + 1]);
    const i32 pieces = (columns + width - 1) / width;  // alike, rather than full ones and a rest
    for (i32 k = 0; k < pieces; k++) {
      const i32 begin = i32(i64(columns) * k / pieces), end = i32(i64(columns) * (k + 1) / pieces);
      Block b;
      b.column = first + begin;
      b.width = end - begin;
      b.front = columns - begin + height;
      b.rows = rows + begin;
      b.strip_rows = rows_of_strips(b.width);
      place_values(all, b);
      all.blocks.push_back(b);
    }
  }
  first_of.push_back(all.count());
  find_family(all, nodes, first_of);
  find_sources(all);
  find_parts(all, part_values);
  return all;
}

}  // namespace sordino::trsv
