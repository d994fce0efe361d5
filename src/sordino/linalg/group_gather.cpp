#include "sordino/linalg/group_gather.hpp"

#include <string>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

constexpr int queue = 1;  // on which rows are handed on

/// A slice of one rank goes to another; both have it at the same rows.
ExchangePeer trade(const Partition& p, int with, int comes, int goes, int remote_index) {
  ExchangePeer peer;
  peer.rank = with;
  peer.recv_first = i32(p.first_row(comes));
  peer.recv_count = p.rows(comes);
  peer.send_first = peer.remote_first = i32(p.first_row(goes));
  peer.send_count = p.rows(goes);
  peer.remote_index = remote_index;
  return peer;
}

}  // namespace

bool takes_two_hops(int ranks, int group) {
  if (group < 1 || ranks % group != 0)
    bad_argument("ranks gather in groups of equal size: " + std::to_string(ranks) + " ranks cannot be groups of " +
                 std::to_string(group));
  return group != 1 && group != ranks;
}

GroupGather::GroupGather(Rank& rank, const Partition& p, int space, int group) {
  const int me = rank.id(), place = me % group, mine = me / group, groups = rank.size() / group;
  auto list_without = [](int other, int self) { return other < self ? other : other - 1; };
  between_.hop = Hop::first;
  within_.hop = Hop::second;
  rows_.first = {{i32(p.first_row(me)), i32(p.first_row(me + 1))}};
  for (int g = 0; g < groups; g++) {
    if (g == mine) continue;
    const int with = g * group + place;
    between_.peers.push_back(trade(p, with, with, me, list_without(mine, g)));
    rows_.rest.push_back({i32(p.first_row(with)), i32(p.first_row(with + 1))});
  }
  for (int k = 0; k < group; k++) {
    if (k == place) continue;
    for (int g = 0; g < groups; g++)  // all that member k has, a message a slice
      within_.peers.push_back(
          trade(p, mine * group + k, g * group + k, g * group + place, list_without(place, k) * groups + g));
  }
  for (Vec& v : vectors_) v = rank.vector("rows to hand on", space, &between_);
}

void GroupGather::hand_on(Rank& rank, Vec sent, Vec y) const {
  rank.on(queue, [&] { rank.run_split(HandOn{.from = sent, .to = y}, rows_, push(y)); });
}

}  // namespace sordino
