// What a thread block does for small subtrees, as a list of numbers that is copied to it with their values: it then needs
// nothing from far away but b.
#pragma once
#include <vector>

#include "sordino/trsv/blocks.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// One block of them. Places of values, columns and slots are counted from those of the task.
struct SmallBlock {
  i32 values, column, width, front, strip_rows;
  i32 children;     // that it waits for
  i32 parent;       // in the task, or -1: then its sums go to
  i32 slot_of_all;  //   this place among all slots, too
  i32 slot;         // where its sums begin
  i32 sources;      // word of the program: where those of its front's rows begin, [front + 1] words of the program
};
static_assert(sizeof(SmallBlock) == words_of_small_block * sizeof(i32));

struct SubtreeProgram {
  std::vector<i32> words;  // its SmallBlocks, then sources; a multiple of 16 bytes
  i32 columns = 0, slots = 0;
  i32 outside = 0;  // on the way back: rows whose x is computed elsewhere
};

/// Of blocks first, ..., end - 1, which are whole subtrees.
SubtreeProgram subtree_program(const Blocks& blocks, i32 first, i32 end);

/// One block of them on the way back, parents before their children. A thread block has a list of numbers y: b of all columns,
/// -x of all columns, -x of rows outside, and a zero.
struct SmallBlockBack {
  i32 values, column, width, front, strip_rows;  // as above
  i32 parent;                                    // that it waits for, counted in this order; or -1
  i32 places;  // word of the program: where in y each row of the front is, and the zero if they are odd; an even number
};

/// Words: SmallBlockBacks, the rows outside (columns of the blocks), places.
SubtreeProgram subtree_program_back(const Blocks& blocks, i32 first, i32 end);

}  // namespace sordino::trsv
