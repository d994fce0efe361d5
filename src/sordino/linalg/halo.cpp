#include "sordino/linalg/halo.hpp"

#include <algorithm>

#include "sordino/comm/communicator.hpp"

namespace sordino {
namespace {

constexpr int channel = 1;
constexpr int ahead = 64;  // ranks that are told what is needed before the first is heard

bool contiguous(const std::vector<i32>& rows) { return rows.empty() || rows.back() - rows.front() + 1 == i32(rows.size()); }

// What each rank needs from each other: the rows, preceded by the storage row where they shall land. Who needs nothing says so,
// for nobody else knows. Few letters are under way at a time: on the model, one from each of thousands to each would take
// memory by the square of ranks.
void trade_needs(Rank& rank, const Partition& part, const Space& space, const std::vector<i64>& ghosts, Exchange& x) {
  int me = rank.id(), P = rank.size();
  Communicator comm(rank, channel);
  auto place = [&](int q) { return std::lower_bound(ghosts.begin(), ghosts.end(), part.first_row(q)) - ghosts.begin(); };
  auto tell = [&](int q) {
    std::vector<i64> needs{space.rows + place(q)};
    needs.insert(needs.end(), ghosts.begin() + place(q), ghosts.begin() + place(q + 1));
    comm.send(q, needs);
  };
  auto hear = [&](int q) {
    auto needs = comm.receive<i64>(q);
    ExchangePeer p;
    p.rank = q;
    p.recv_first = space.rows + i32(place(q));
    p.recv_count = i32(place(q + 1) - place(q));
    p.remote_first = i32(needs[0]);
    p.send_count = i32(needs.size()) - 1;
    if (p.send_count == 0 && p.recv_count == 0) return;
    for (i32 k = 1; k <= p.send_count; k++) p.send_rows.push_back(i32(needs[k] - space.first_row));
    if (contiguous(p.send_rows)) {
      p.send_first = p.send_rows.empty() ? 0 : p.send_rows[0];
      p.send_rows.clear();
    }
    x.peers.push_back(std::move(p));
  };
  for (int k = 1; k < P + ahead; k++) {
    if (k < P) tell((me + k) % P);
    if (k > ahead) hear((me - (k - ahead) + P) % P);
  }
  std::sort(x.peers.begin(), x.peers.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
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
