// A triangle's supernodes, cut into blocks of columns, and where the values of a block lie.
//
// A solve passes sums up the tree: a block adds what its children have for the rows of its front, takes its columns' part of
// that from b, multiplies, and has sums for its rows below, each in a slot of its own that its parent reads. So every number is
// written once, by one writer, and sums have one order.
//
// A block's front is its own columns, and behind them all rows below. Of the block [D; L], with the triangle D, [D^-1; L D^-1]
// is kept: both halves of a step are then one product, which neither waits for the other. Its rows are stored in strips of up
// to 62, column by column, where the triangle ends without the columns behind it.
//
// The way back, x = [D^-1; L D^-1]^T [b; -x below], sums over rows of the same strips. x of most of them is there long before
// that of the parent: so strips are dealt to parts, each of which has a partial sum of its own, and to the near strips, which
// have the rows that come last. The parts depend on the block alone, and so does the order of the sum.
#pragma once
#include <algorithm>
#include <vector>

#include "sordino/trsv/supernodes.hpp"

namespace sordino::trsv {

/// Values of a strip, at most, unless it has two rows.
inline constexpr i32 most_of_strip = 5632;

struct Block {
  i32 column = 0;      // its first
  i32 width = 0;       // columns
  i32 front = 0;       // rows, its columns' among them
  i32 strip_rows = 0;  // of each strip but the last
  i64 rows = 0;        // Blocks::rows[rows + i]: number of its front's row i
  i64 strip = 0;       // Blocks::strips[strip + k]: where the values of strip k begin
  i64 slot = 0;        // of its sums for rows below: height() of them, in the order of its front
  i64 source = 0;      // Blocks::source_begin[source + i]: of the sums that its front's row i gets

  SORDINO_HD i32 strips() const { return (front + strip_rows - 1) / strip_rows; }
  SORDINO_HD i32 height() const { return front - width; }
};

/// Rows first, ..., first + rows - 1 of a front: `columns` of them are stored, each in `lead` values.
struct Strip {
  i32 first, rows, columns, lead;
  SORDINO_HD i64 size() const { return (i64(lead) * columns + 3) / 4 * 4; }
};

/// Rows of a block's strips: twice an odd number, so that threads that read two rows of neighbouring columns each find them in
/// different banks of a memory.
SORDINO_HD inline i32 rows_of_strips(i32 width) {
  const i32 rows = most_of_strip / width, most = 62;
  return rows >= most ? most : rows < 6 ? 2 : (rows - 2) / 4 * 4 + 2;
}

/// Strips first, ..., end - 1 of a block.
struct StripRange {
  i32 first = 0, end = 0;
};

/// Strip k of a block. Columns begin at multiples of two values, strips at multiples of four.
SORDINO_HD inline Strip strip_of(const Block& b, i32 k) {
  const i32 first = k * b.strip_rows, left = b.front - first, rows = left < b.strip_rows ? left : b.strip_rows;
  const i32 last = first + rows;
  return {first, rows, last < b.width ? last : b.width, (rows + 1) & ~1};
}

/// Blocks are numbered so that children come before their parent, and a block's subtree is consecutive.
struct Blocks {
  i64 n = 0;
  std::vector<i32> order;     // [n] column k of the blocks is column order[k] of the triangle
  std::vector<Block> blocks;  // [count]
  std::vector<i32> parent;    // [count] that has all its rows below in its front, or no_parent
  std::vector<i32> first;     // [count] the first block of the subtree
  std::vector<i32> rows;
  std::vector<i64> strips;
  std::vector<i64> source_begin;  // [rows of all fronts + 1]
  std::vector<i32> sources;       // slots, of a row in the order of the children
  std::vector<StripRange> near;   // [count] strips with rows that are columns of the parent; all columns are stored there
  std::vector<i32> part_begin;    // [count + 1] parts[part_begin[k]], ...: those of block k
  std::vector<StripRange> parts;  // its other strips, in their order
  std::vector<i64> partial;       // [parts] where the partial sum begins: a number for each column of the block
  i64 values = 0;                 // stored
  i64 slots = 0;
  i64 partials = 0;
  i64 entries = 0;  // of the triangle, with the zeros of its supernodes

  i32 count() const { return i32(blocks.size()); }
};

/// Of at most `width` columns each: a wide supernode becomes a chain. A part of the way back has up to `part_values` values,
/// or one strip; remote parts have more (way_back.hpp), and a block that would have one part only is all near. Throws
/// bad_argument for a width < 1 or a part without values.
Blocks cut(const Supernodes& nodes, i32 width, i64 part_values = most_of_strip);

/// The part of block k that begins with this strip, a place among Blocks::parts; -1 if there is none.
i32 part_of(const Blocks& blocks, i32 k, i32 first_strip);

}  // namespace sordino::trsv
