#include "sordino/linalg/halo.hpp"

#include <algorithm>

#include "sordino/comm/communicator.hpp"
#include "sordino/comm/delivery.hpp"
#include "sordino/linalg/ghost_ranges.hpp"
#include "sordino/runtime/sent_runs.hpp"

namespace sordino {
namespace {

constexpr int channel = 1;

/// Of such words, from the second one on, the rows that are to be sent.
void take_runs(const std::vector<i64>& words, i64 first_row, ExchangePeer& p) {
  for (std::size_t k = 1; k < words.size(); k += 2) p.send_count += i32(words[k + 1]);
  if (words.size() <= 3) {
    p.send_first = words.size() == 1 ? 0 : i32(words[1] - first_row);
    return;
  }
  p.send_rows.reserve(std::size_t(p.send_count));
  for (std::size_t k = 1; k < words.size(); k += 2)
    for (i64 row = words[k]; row < words[k] + words[k + 1]; row++) p.send_rows.push_back(i32(row - first_row));
}

/// Whose rows these are, in order.
std::vector<int> owners(const Partition& part, const GhostRanges& ghosts) {
  std::vector<int> ranks;
  for (const ColumnRange& range : ghosts.ranges())
    for (i64 row = range.begin; row < range.end; row = part.first_row(ranks.back() + 1))
      if (const int owner = part.owner(row); ranks.empty() || ranks.back() != owner) ranks.push_back(owner);
  return ranks;
}

/// Those between these rows, by runs: the first row of each, and how many follow one another.
void add_runs(const GhostRanges& ghosts, i64 begin, i64 end, std::vector<i64>& words) {
  for (const ColumnRange& range : ghosts.ranges()) {
    const i64 first = std::max(range.begin, begin), last = std::min(range.end, end);
    if (first < last) words.insert(words.end(), {first, last - first});
  }
}

/// The ranks between which and this one rows go: those that it needs rows of, and those that wrote to it. In order.
std::vector<int> neighbours(std::vector<int> owners, const std::vector<Dispatch>& needs) {
  for (auto& l : needs) owners.push_back(l.from);
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

// Who needs rows of another rank tells it which, preceded by the storage row where they shall land.
void trade_needs(Rank& rank, const Partition& part, const Space& space, const GhostRanges& ghosts, Exchange& x) {
  auto place = [&](int q) { return ghosts.place(part.first_row(q)); };
  std::vector<Dispatch> letters;
  for (int q : owners(part, ghosts)) {
    Dispatch& l = letters.emplace_back(Dispatch{.to = q, .words = {space.rows + place(q)}});
    add_runs(ghosts, part.first_row(q), part.first_row(q + 1), l.words);
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
      take_runs(need->words, space.first_row, p);
      need++;
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
    for_sent_runs(
        p, [&](RowRange rows, i32) { std::fill(sent.begin() + tile(rows.begin), sent.begin() + tile(rows.end - 1) + 1, 1); });
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
  return make_halo(rank, partition, space, GhostRanges(ghosts));
}

Exchange make_halo(Rank& rank, const Partition& partition, const Space& space, const GhostRanges& ghosts) {
  Exchange x;
  x.ghosts = i32(ghosts.count());
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
