// Who owns which rows. Rows are cut into blocks that do not depend on the number of ranks; ranks own contiguous blocks.
#pragma once
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/runtime/space.hpp"

namespace sordino {

struct Partition {
  i64 n = 0;
  std::vector<i64> block_rows;   // [blocks + 1] first row of each block
  std::vector<i32> rank_blocks;  // [ranks + 1] first block of each rank

  int ranks() const { return int(rank_blocks.size()) - 1; }
  i32 blocks() const { return i32(block_rows.size()) - 1; }
  i64 first_row(int rank) const { return block_rows[rank_blocks[rank]]; }
  i32 rows(int rank) const { return i32(first_row(rank + 1) - first_row(rank)); }
  int owner(i64 row) const;
};

/// 840 = lcm(1..8) blocks: 1 to 8 ranks then hold equally many, and sums have the same bits for every number of ranks.
inline constexpr i32 default_blocks = 840;

/// Blocks of equal weight, where a row weighs the bytes that an iteration moves for it: 12 a nonzero (20 a complex one) and
/// some vectors.
/// Of a view of some rows: the part of a partition that has them. Throws bad_argument if there are more ranks than rows.
Partition balance(const CsrView& A, int ranks, i32 most_blocks = default_blocks);
/// Of ranks that own these rows, [ranks + 1] the first row of each and n; about as many blocks in all. Throws bad_argument if
/// they do not increase from 0 to n.
Partition balance_within(const CsrView& A, const std::vector<i64>& cuts);
/// Of ranks whose blocks begin at these rows, [rank][block].
Partition partition_at(i64 n, const std::vector<std::vector<i64>>& blocks);
/// Blocks of equally many rows.
Partition even_partition(i64 n, int ranks);

/// A rank's view of the distributed rows.
Space distributed_space(const Partition& partition, int rank);
/// Every rank holds all rows; sums are taken over the same blocks, so their bits equal those of the distributed space.
Space replicated_space(const Partition& partition);

}  // namespace sordino
