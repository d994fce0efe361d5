#include "sordino/linalg/ghost_rows.hpp"

#include "sordino/comm/delivery.hpp"

namespace sordino {

GhostRows::GhostRows(Rank& rank, const Partition& rows, const std::vector<i64>& ghosts) {
  std::vector<Dispatch> letters;
  for (i64 ghost : ghosts) {
    const int owner = rows.owner(ghost);
    if (owners_.empty() || owners_.back() != owner) {
      owners_.push_back(owner);
      letters.push_back({.to = owner});
    }
    letters.back().words.push_back(ghost - rows.first_row(owner));
  }
  for (Dispatch& letter : deliver(rank, channel, std::move(letters))) wanted_.push_back({letter.from, std::move(letter.words)});
}

}  // namespace sordino
