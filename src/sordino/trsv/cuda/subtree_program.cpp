#include "sordino/trsv/cuda/subtree_program.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace sordino::trsv {
namespace {

/// Blocks first, ..., end - 1 from the roots on, those of one depth together: who takes them in this order seldom waits.
std::vector<i32> from_the_roots(const Blocks& blocks, i32 first, i32 end) {
  std::vector<i32> depth(std::size_t(end - first), 0), order(depth.size());
  for (i32 k = end; k-- > first;)
    if (const i32 above = blocks.parent[std::size_t(k)]; above != no_parent && above < end)
      depth[std::size_t(k - first)] = depth[std::size_t(above - first)] + 1;
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(),
                   [&](i32 a, i32 b) { return depth[std::size_t(a - first)] < depth[std::size_t(b - first)]; });
  return order;
}

/// Rows of their fronts that are no columns of theirs, in increasing order.
std::vector<i32> rows_outside(const Blocks& blocks, i32 first, i32 end) {
  const Block& last = blocks.blocks[std::size_t(end - 1)];
  std::vector<i32> rows;
  for (i32 k = first; k < end; k++) {
    const Block& b = blocks.blocks[std::size_t(k)];
    for (i32 i = b.width; i < b.front; i++)
      if (const i32 row = blocks.rows[std::size_t(b.rows + i)]; row >= last.column + last.width) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace

SubtreeProgram subtree_program(const Blocks& blocks, i32 first, i32 end) {
  const Block& begin = blocks.blocks[std::size_t(first)];
  const i64 first_value = blocks.strips[std::size_t(begin.strip)];
  SubtreeProgram p;
  p.words.resize(std::size_t(end - first) * words_of_small_block);
  for (i32 k = first; k < end; k++) {
    const Block& b = blocks.blocks[std::size_t(k)];
    const i32 above = blocks.parent[std::size_t(k)];
    const bool inside = above != no_parent && above < end;
    SmallBlock small{.values = i32(blocks.strips[std::size_t(b.strip)] - first_value),
                     .column = b.column - begin.column,
                     .width = b.width,
                     .front = b.front,
                     .strip_rows = b.strip_rows,
                     .children = 0,
                     .parent = inside ? above - first : -1,
                     .slot_of_all = inside ? -1 : i32(b.slot),
                     .slot = i32(b.slot - begin.slot),
                     .sources = i32(p.words.size())};
    for (i32 c = first; c < k; c++) small.children += blocks.parent[std::size_t(c)] == k;
    std::memcpy(p.words.data() + std::size_t(k - first) * words_of_small_block, &small, sizeof small);
    i32 next = small.sources + b.front + 1;
    for (i32 i = 0; i <= b.front; i++) {
      p.words.push_back(next);
      if (i < b.front)
        next += i32(blocks.source_begin[std::size_t(b.source + i) + 1] - blocks.source_begin[std::size_t(b.source + i)]);
    }
    for (i64 e = blocks.source_begin[std::size_t(b.source)]; e < blocks.source_begin[std::size_t(b.source + b.front)]; e++)
      p.words.push_back(blocks.sources[std::size_t(e)] - i32(begin.slot));
    p.columns += b.width;
    p.slots += b.height();
  }
  p.words.resize((p.words.size() + 3) / 4 * 4);
  return p;
}

SubtreeProgram subtree_program_back(const Blocks& blocks, i32 first, i32 end) {
  const Block &begin = blocks.blocks[std::size_t(first)], &last = blocks.blocks[std::size_t(end - 1)];
  const std::vector<i32> order = from_the_roots(blocks, first, end), outside = rows_outside(blocks, first, end);
  std::vector<i32> turn(order.size());
  for (std::size_t k = 0; k < order.size(); k++) turn[std::size_t(order[k] - first)] = i32(k);
  constexpr std::size_t words_of_block = sizeof(SmallBlockBack) / sizeof(i32);
  SubtreeProgram p;
  p.columns = last.column + last.width - begin.column, p.outside = i32(outside.size());
  p.words.resize(order.size() * words_of_block);
  p.words.insert(p.words.end(), outside.begin(), outside.end());
  p.words.resize((p.words.size() + 1) / 2 * 2);
  auto place_of = [&](const Block& b, i32 i) {
    const i32 row = blocks.rows[std::size_t(b.rows + i)];
    if (i < b.width) return row - begin.column;
    if (row < last.column + last.width) return p.columns + row - begin.column;
    return 2 * p.columns + i32(std::lower_bound(outside.begin(), outside.end(), row) - outside.begin());
  };
  for (std::size_t k = 0; k < order.size(); k++) {
    const Block& b = blocks.blocks[std::size_t(order[k])];
    const i32 above = blocks.parent[std::size_t(order[k])];
    const SmallBlockBack small{.values = i32(blocks.strips[std::size_t(b.strip)] - blocks.strips[std::size_t(begin.strip)]),
                               .column = b.column - begin.column,
                               .width = b.width,
                               .front = b.front,
                               .strip_rows = b.strip_rows,
                               .parent = above != no_parent && above < end ? turn[std::size_t(above - first)] : -1,
                               .places = i32(p.words.size())};
    std::memcpy(p.words.data() + k * words_of_block, &small, sizeof small);
    for (i32 i = 0; i < b.front; i++) p.words.push_back(place_of(b, i));
    if (b.front % 2 == 1) p.words.push_back(2 * p.columns + p.outside);
  }
  p.words.resize((p.words.size() + 3) / 4 * 4);
  return p;
}

}  // namespace sordino::trsv
