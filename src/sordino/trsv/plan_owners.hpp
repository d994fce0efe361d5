// Which rank has a block's values.
#pragma once
#include <vector>

#include "sordino/trsv/blocks.hpp"

namespace sordino::trsv {

/// Values of each block.
std::vector<i64> sizes_of(const Blocks& blocks);
/// The sum of each block's subtree.
std::vector<i64> sums_of_subtrees(const Blocks& blocks, const std::vector<i64>& sizes);

/// [blocks] Subtrees are taken whole, the largest first, each by the rank with the least so far; until then the largest is
/// replaced by its children while it is more than a quarter of a rank's share. The blocks above follow, each to the rank with
/// the least, so that a chain is computed by several: a block needs only the first rows of the one before it to begin.
/// Subtrees of up to `whole` values are never taken apart, so that what is done as one task does not hang on the ranks.
std::vector<i32> owners_of(const Blocks& blocks, int ranks, i64 whole);

}  // namespace sordino::trsv
