#include "sordino/linalg/partition.hpp"

#include <algorithm>
#include <functional>
#include <ranges>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

constexpr double bytes_per_column = 4, bytes_per_value = 8, bytes_per_row = 88;

i32 number_of_blocks(i64 n, int ranks, i32 most = default_blocks) {
  if (ranks < 1) bad_argument("the number of ranks must be at least 1, not " + std::to_string(ranks));
  if (ranks > n) bad_argument("more ranks (" + std::to_string(ranks) + ") than rows (" + std::to_string(n) + ")");
  return i32(std::max<i64>(std::min<i64>(n, most), ranks));
}

std::vector<i32> deal(i32 blocks, int ranks) {
  std::vector<i32> first;
  for (int p = 0; p <= ranks; p++) first.push_back(i32(i64(blocks) * p / ranks));
  return first;
}

std::vector<i32> local_blocks(const Partition& p, i32 begin, i32 end) {
  std::vector<i32> rows;
  for (i32 b = begin; b <= end; b++) rows.push_back(i32(p.block_rows[b] - p.block_rows[begin]));
  return rows;
}

}  // namespace

int Partition::owner(i64 row) const {
  auto block = std::upper_bound(block_rows.begin(), block_rows.end(), row) - block_rows.begin() - 1;
  return int(std::upper_bound(rank_blocks.begin(), rank_blocks.end(), i32(block)) - rank_blocks.begin()) - 1;
}

Partition balance(const CsrView& A, int ranks, i32 most_blocks) {
  Partition p{A.n, {A.first_row}, {}};
  i32 blocks = number_of_blocks(A.rows(), ranks, most_blocks);
  const double entry = bytes_per_column + A.words * bytes_per_value;
  auto weight = [&](i64 row) { return entry * double(A.begin(row)) + A.words * bytes_per_row * double(row - A.first_row); };
  double total = weight(A.end_row());
  i64 row = A.first_row;
  for (i32 b = 1; b < blocks; b++) {
    i64 least = p.block_rows.back() + 1, most = A.end_row() - (blocks - b);  // no block is empty
    const auto rows = std::views::iota(row, std::max(row, most));
    row += std::ranges::partition_point(rows, [&](i64 r) { return weight(r) < total * b / blocks; }) - rows.begin();
    row = std::clamp(row, least, most);
    p.block_rows.push_back(row);
  }
  p.block_rows.push_back(A.end_row());
  p.rank_blocks = deal(blocks, ranks);
  return p;
}

Partition balance_within(const CsrView& A, const std::vector<i64>& cuts) {
  if (cuts.size() < 2 || cuts.front() != 0 || cuts.back() != A.n ||
      std::adjacent_find(cuts.begin(), cuts.end(), std::greater_equal<>()) != cuts.end())
    bad_argument("the ranks' rows must begin with 0, increase, and end with " + std::to_string(A.n));
  int ranks = int(cuts.size()) - 1;
  std::vector<std::vector<i64>> blocks;
  for (int p = 0; p < ranks; p++) {
    i64 first = cuts[std::size_t(p)], held = cuts[std::size_t(p) + 1] - first;
    std::vector<i64> starts(A.indptr + first, A.indptr + first + held + 1);
    for (i64& start : starts) start -= A.indptr[first];
    CsrView rows{.n = A.n, .indptr = starts.data(), .first_row = first, .held = held};
    blocks.push_back(balance(rows, 1, std::max(1, default_blocks / ranks)).block_rows);
    blocks.back().pop_back();
  }
  return partition_at(A.n, blocks);
}

Partition partition_at(i64 n, const std::vector<std::vector<i64>>& blocks) {
  Partition p{n, {}, {0}};
  for (auto& rows : blocks) {
    p.block_rows.insert(p.block_rows.end(), rows.begin(), rows.end());
    p.rank_blocks.push_back(i32(p.block_rows.size()));
  }
  p.block_rows.push_back(n);
  return p;
}

Partition even_partition(i64 n, int ranks) {
  Partition p{n, {}, {}};
  i32 blocks = number_of_blocks(n, ranks);
  for (i32 b = 0; b <= blocks; b++) p.block_rows.push_back(n * b / blocks);
  p.rank_blocks = deal(blocks, ranks);
  return p;
}

Space distributed_space(const Partition& p, int rank) {
  Space s;
  s.n_global = p.n;
  s.first_row = p.first_row(rank);
  s.rows = p.rows(rank);
  s.n_blocks = p.blocks();
  s.first_block = p.rank_blocks[rank];
  set_tiles(s, local_blocks(p, p.rank_blocks[rank], p.rank_blocks[rank + 1]));
  return s;
}

Space replicated_space(const Partition& p) {
  Space s;
  s.n_global = p.n;
  s.rows = i32(p.n);
  s.n_blocks = p.blocks();
  s.replicated = true;
  set_tiles(s, local_blocks(p, 0, p.blocks()));
  return s;
}

}  // namespace sordino
