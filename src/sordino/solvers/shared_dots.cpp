#include "sordino/solvers/shared_dots.hpp"

#include "sordino/solvers/gram.hpp"

namespace sordino::whole_vectors {

Exchange within_group(const Rank& rank, const std::vector<i32>& cuts) {
  const int group = int(cuts.size()) - 1, me = rank.id() % group, first = rank.id() - me;
  Exchange x;
  for (int k = 0; k < group; k++) {
    if (k == me) continue;
    ExchangePeer peer;
    peer.rank = first + k;
    peer.recv_first = cuts[std::size_t(k)];
    peer.recv_count = cuts[std::size_t(k) + 1] - peer.recv_first;
    peer.send_first = peer.remote_first = cuts[std::size_t(me)];
    peer.send_count = cuts[std::size_t(me) + 1] - peer.send_first;
    peer.remote_index = me < k ? me : me - 1;
    x.peers.push_back(peer);
  }
  return x;
}

Split share_of(const Rank& rank, const std::vector<i32>& cuts) {
  const std::size_t me = std::size_t(rank.id()) % (cuts.size() - 1);
  return {{{cuts[me], cuts[me + 1]}}, {}};
}

Deal::Deal(const Space& space, int group) : tiles(space.block_tiles), rows(space.tile_rows) {
  for (int k = 0; k <= group; k++) {
    block_cuts.push_back(i32(i64(space.my_blocks()) * k / group));
    row_cuts.push_back(rows[std::size_t(tiles[std::size_t(block_cuts.back())])]);
  }
}

SharedDots::SharedDots(Rank& rank, const Deal& deal)
    : deal_(deal),
      me_(std::size_t(rank.id()) % (deal.block_cuts.size() - 1)),
      memory_(rank),
      blocks_{memory_.uploaded(deal.tiles), memory_.uploaded(deal.rows)} {
  std::vector<i32> cuts;
  for (i32 cut : deal.block_cuts) cuts.push_back(places * cut);
  exchange_ = within_group(rank, cuts);
  own_ = share_of(rank, cuts);
  const int space = rank.add_space(gram::replicated(places * deal.blocks()));
  for (Vec& parts : parts_) parts = rank.vector("sums of blocks", space, &exchange_);
  Space in_one_tile = gram::replicated(deal.blocks());
  set_tiles(in_one_tile, {0, deal.blocks()}, deal.blocks());
  all_blocks_ = rank.add_space(std::move(in_one_tile));
}

}  // namespace sordino::whole_vectors
