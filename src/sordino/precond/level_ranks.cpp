#include "sordino/precond/level_ranks.hpp"

#include <algorithm>

namespace sordino {
namespace {

constexpr i64 fewer_rows = 8;  // of a level, beside the one before it where all directions are paired

}  // namespace

LevelRanks::LevelRanks(const Partition& first, const Extents& cells, i64 alone) : alone_(alone) {
  for (int r = 0; r <= first.ranks(); r++) cuts_.push_back(first.first_row(r) / rows_of_layer(cells));
}

bool LevelRanks::can_pair() const {
  return std::all_of(cuts_.begin(), cuts_.end(), [&](i64 cut) { return cut % 2 == 0 || cut == cuts_.back(); });
}

void LevelRanks::pair() {
  for (i64& cut : cuts_) cut = (cut + 1) / 2;  // of odd many layers the last one is alone
}

void LevelRanks::recount(i64 layers) {
  for (i64& cut : cuts_) cut *= layers;
}

/// So few that from each level to the next one, of an eighth of its rows, at most `most_senders` times fewer own any.
i64 LevelRanks::most_owners(i64 rows) const {
  const i64 ranks = i64(cuts_.size()) - 1;
  if (alone_ == 0) return ranks;
  i64 owners = 1;
  for (i64 few = alone_; rows > few && owners < ranks; few *= fewer_rows) owners *= most_senders;
  return std::min(owners, ranks);
}

void LevelRanks::settle(i64 rows, bool pairs) {
  const i64 layers = cuts_.back(), depth = pairs ? 2 : 1, units = (layers + depth - 1) / depth, most = most_owners(rows);
  i64 stride = stride_;
  while (owners(stride) > most && stride < most_senders * stride_) stride *= 2;
  while (owners(stride) > units) stride *= 2;
  if (stride == stride_ && (!pairs || can_pair())) return;
  stride_ = stride;
  for (std::size_t r = 0; r + 1 < cuts_.size(); r++)
    cuts_[r] = std::min(layers, units * ((i64(r) + stride - 1) / stride) / owners(stride) * depth);
}

Partition partition_in_cuts(const std::vector<i64>& cuts, const Extents& cells) {
  std::vector<std::vector<i64>> blocks;
  for (std::size_t r = 0; r + 1 < cuts.size(); r++) {
    blocks.emplace_back();
    if (cuts[r] < cuts[r + 1]) blocks.back().push_back(cuts[r] * rows_of_layer(cells));
  }
  return partition_at(cells[0] * cells[1] * cells[2], blocks);
}

int last_direction(const Extents& cells) { return cells[2] > 1 ? 2 : cells[1] > 1 ? 1 : 0; }

i64 rows_of_layer(const Extents& cells) {
  i64 rows = 1;
  for (int d = 0; d < last_direction(cells); d++) rows *= cells[std::size_t(d)];
  return rows;
}

}  // namespace sordino
