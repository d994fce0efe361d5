// How the way back cuts a block's sum over its rows.
#pragma once
#include "sordino/trsv/blocks.hpp"

namespace sordino::trsv {

/// Rows of a part, at most, unless one strip has more: their x is at hand at once.
inline constexpr i32 most_rows_of_part = 512;
/// Parts of the largest size below a block and its parent, about at the most, unless their rows are too many; beside them some
/// twenty to sixty that grow up to that size.
inline constexpr i32 most_parts = 64;

/// x of rows comes the later the nearer to the parent they are, and what a task's first values leave of it is read when x is
/// there: a part is as large as this share of what lies between it and the near strips, at least one of the usual size, and
/// at most so many times as large, unless there would be too many.
inline constexpr i64 share_of_distance = 8;
inline constexpr i64 remote_part = 4;

/// Values of a column in the near strips of block k, with the one at the end of odd ones.
i64 near_values_of_column(const Blocks& blocks, i32 k);

/// Finds Blocks::near, parts and partial.
void find_parts(Blocks& blocks, i64 part_values);

}  // namespace sordino::trsv
