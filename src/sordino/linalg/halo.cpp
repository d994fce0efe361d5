#include "sordino/linalg/halo.hpp"

#include <algorithm>

#include "sordino/comm/communicator.hpp"
#include "sordino/comm/delivery.hpp"

namespace sordino {
namespace {

constexpr int channel = 1;

bool contiguous(const std::vector<i32>& rows) { return rows.empty() || rows.back() - rows.front() + 1 == i32(rows.size()); }

/// Whose rows these are, in order.
std::vector<int> owners(const Partition& part, const std::vector<i64>& ghosts) {
  std::vector<int> ranks;
  for (auto at = ghosts.begin(); at != ghosts.end(); at = std::lower_bound(at, ghosts.end(), part.first_row(ranks.back() + 1)))
    ranks.push_back(part.owner(*at));
  return ranks;
}

/// The ranks between which and this one rows go: those that it needs rows of, and those that wrote to it. In order.
std::vector<int> neighbours(std::vector<int> owners, const std::vector<Dispatch>& needs) {
  for (auto& l : needs) owners.push_back(l.from);
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

// Who needs rows of another rank tells it which, preceded by the storage row where they shall land.
void trade_needs(Rank& rank, const Partition& part, const Space& space, const std::vector<i64>& ghosts, Exchange& x) {
  auto place = [&](int q) { return std::lower_bound(ghosts.begin(), ghosts.end(), part.first_row(q)) - ghosts.begin(); };
  std::vector<Dispatch> letters;
  for (int q : owners(part, ghosts)) {
    Dispatch& l = letters.emplace_back(Dispatch{.to = q, .words = {space.rows + place(q)}});
    l.words.insert(l.words.end(), ghosts.begin() + place(q), ghosts.begin() + place(q + 1));
  }
  const std::vector<Dispatch> needs = deliver(rank, channel, std::move(letters));
  auto need = needs.begin();
  for (int q : neighbours(owners(part, ghosts), needs)) {
    ExchangePeer p;
    p.rank = q;
    p.recv_first = space.rows + i32(place(q));
    p.recv_count = i32(place(q + 1) - place(q));
    if (need != needs.end() && need->from == q) {
      p.remote_first = i32(need->words[0]);
      p.send_count = i32(need->words.size()) - 1;
      for (i32 k = 1; k <= p.send_count; k++) p.send_rows.push_back(i32(need->words[std::size_t(k)] - space.first_row));
      need++;
    }
    if (contiguous(p.send_rows)) {
      p.send_first = p.send_rows.empty() ? 0 : p.send_rows[0];
      p.send_rows.clear();
    }
    x.peers.push_back(std::move(p));
  }
}

// Peers tell each other at which place in their list the other one stands: that is the flag it raises.
void trade_places(Rank& rank, Exchange& x) {
  Communicator comm(rank, channel);
  for (std::size_t k = 0; k < x.peers.size(); k++) comm.send(x.peers[k].rank, std::vector<i32>{i32(k)});
  for (auto& p : x.peers) p.remote_index = comm.receive<i32>(p.rank)[0];
}

Split producer_split(const Space& space, const Exchange& x) {
  std::vector<char> sent(space.tiles());
  auto tile = [&](i32 row) {
    return std::upper_bound(space.tile_rows.begin(), space.tile_rows.end(), row) - space.tile_rows.begin() - 1;
  };
  for (auto& p : x.peers)
    for (i32 k = 0; k < p.send_count; k++) sent[tile(p.send_row(k))] = 1;
  auto [first, rest] = split_tiles(space, sent);
  return {first, rest};
}

}  // namespace

std::pair<std::vector<RowRange>, std::vector<RowRange>> split_tiles(const Space& space, const std::vector<char>& needed) {
  std::vector<RowRange> yes, no;
  for (i32 t = 0; t < space.tiles(); t++) {
    auto& list = needed[t] ? yes : no;
    RowRange r{space.tile_rows[t], space.tile_rows[t + 1]};
    if (!list.empty() && list.back().end == r.begin)
      list.back().end = r.end;
    else
      list.push_back(r);
  }
  return {yes, no};
}

Exchange make_halo(Rank& rank, const Partition& partition, const Space& space, const std::vector<i64>& ghosts) {
  Exchange x;
  x.ghosts = i32(ghosts.size());
  trade_needs(rank, partition, space, ghosts, x);
  trade_places(rank, x);
  x.producer = producer_split(space, x);
  return x;
}

Exchange make_gather(Rank& rank, const Partition& part, const Space& space) {
  Exchange x;
  x.everybody = true;
  int me = rank.id();
  for (int q = 0; q < part.ranks(); q++) {
    if (q == me) continue;
    ExchangePeer p;
    p.rank = q;
    p.recv_first = i32(part.first_row(q));
    p.recv_count = part.rows(q);
    p.send_first = p.remote_first = i32(part.first_row(me));
    p.send_count = part.rows(me);
    p.remote_index = me < q ? me : me - 1;  // I stand at my rank in its list, less its own place
    x.peers.push_back(p);
  }
  RowRange mine{i32(part.first_row(me)), i32(part.first_row(me + 1))};
  x.consumer.first = x.producer.first = {mine};
  for (RowRange r : {RowRange{0, mine.begin}, RowRange{mine.end, space.rows}})
    if (r.size() > 0) x.consumer.rest.push_back(r);
  return x;
}

}  // namespace sordino
