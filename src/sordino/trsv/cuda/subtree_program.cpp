#include "sordino/trsv/cuda/subtree_program.hpp"

#include <cstring>

namespace sordino::trsv {

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

}  // namespace sordino::trsv
