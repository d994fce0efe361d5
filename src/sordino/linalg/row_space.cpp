#include "sordino/linalg/row_space.hpp"

namespace sordino {

std::vector<i64> in_words(const std::vector<i64>& rows, int words) {
  std::vector<i64> all;
  all.reserve(rows.size() * std::size_t(words));
  for (i64 row : rows)
    for (int w = 0; w < words; w++) all.push_back(row * words + w);
  return all;
}

Partition in_words(const Partition& rows, int words) {
  Partition p = rows;
  p.n *= words;
  for (i64& row : p.block_rows) row *= words;
  return p;
}

int add_row_space(Rank& rank, const Partition& partition, int words) {
  Space space = distributed_space(in_words(partition, words), rank.id());
  if (words > 1) space.numbers = rank.add_space(distributed_space(partition, rank.id()));
  return rank.add_space(std::move(space));
}

}  // namespace sordino
