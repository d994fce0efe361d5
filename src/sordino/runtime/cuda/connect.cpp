// Where a rank's rows and sums go: addresses in the other ranks' memory, and the rows of task groups as kernels read them. All
// of it is made when a recording is first compiled, behind the barrier that ends a recording, and kept.
#include <algorithm>

#include "sordino/runtime/cuda/state.hpp"
#include "sordino/runtime/sent_runs.hpp"

namespace sordino::cuda {
namespace {

constexpr std::size_t most_segments = 16;          // that each row is compared with
constexpr i32 most_rows = 0x7fffffff - (1 << 20);  // a stride beyond the last row is still a number

// Contiguous pieces of what goes to one peer, biased so that own row i goes to to[i].
void add_segments(std::vector<Segment>& segments, const ExchangePeer& p, double* place) {
  for_sent_runs(p, [&](RowRange rows, i32 k) { segments.push_back({place + k - rows.begin, rows.begin, rows.size()}); });
}

std::vector<std::pair<i32, i32>> merge(const std::vector<RowRange>& ranges) {
  std::vector<std::pair<i32, i32>> merged;
  for (auto& x : ranges) {
    if (x.size() <= 0) continue;
    if (!merged.empty() && merged.back().second == x.begin)
      merged.back().second = x.end;
    else
      merged.push_back({x.begin, x.end});
  }
  return merged;
}

}  // namespace

// What another rank of this process has is at hand; another process's is mapped.
BlockPlace State::place_of(RankState& r, int rank, Published what, int index) {
  std::optional<BlockPlace> place;
  if (arena)  // a barrier says that all of a host have heard, not that word of another host has come
    wait(
        *public_ranks[std::size_t(r.index - hall->first_rank())],
        [&] { return (place = hall->find_place(rank, what, index)).has_value(); },
        [&] { return "word from rank " + std::to_string(rank) + " on its memory"; });
  return place ? *place : hall->place(rank, what, index);
}

VectorAddress State::vector_of(RankState& r, int rank, int physical) {
  if (hall->is_local(rank)) {
    std::lock_guard lock(mutex);
    const VectorMemory& there = local(rank).vectors[physical];  // whose owner may be busy with its route
    return {there.rows, there.flags};
  }
  BlockPlace at = place_of(r, rank, Published::vector, physical);
  char* rows = mapped(r, rank, at.block) + at.offset;
  return {reinterpret_cast<double*>(rows), reinterpret_cast<u32*>(rows + at.flags)};
}

Packet* State::packets_of(RankState& r, int rank, int slot) {
  if (hall->is_local(rank)) {
    std::lock_guard lock(mutex);
    return local(rank).reductions[slot].packets;
  }
  BlockPlace at = place_of(r, rank, Published::reduction, slot);
  return reinterpret_cast<Packet*>(mapped(r, rank, at.block) + at.offset);
}

const Route& State::route(Rank& rank, int physical) {
  RankState& r = of(rank);
  Route& route = r.vectors[physical].route;
  if (route.ready) return route;
  auto& info = rank.vectors()[physical];
  std::vector<Segment> segments;
  std::vector<u32*> flags;
  auto& peers = info.exchange->peers;
  for (std::size_t k = 0; k < peers.size(); k++) {
    const ExchangePeer& p = peers[k];
    Link way = link(r.index, p.rank);
    if (way != Link::memory) {
      VectorAddress box = way == Link::nccl ? nccl_outbox(r, rank, physical, int(k)) : outbox(r, rank, physical, p);
      if (way == Link::carried) expect_rows(r, rank, physical, int(k));
      add_segments(segments, p, box.rows);
      flags.push_back(box.flags);
    } else {
      VectorAddress there = vector_of(r, p.rank, physical);
      add_segments(segments, p, there.rows + p.remote_first);
      flags.push_back(there.flags + p.remote_index * flag_stride);
    }
  }
  std::string what = "the exchange of '" + info.name + "'";
  if (nccl) make_arrivals(r, rank, physical);
  route.peers = i32(flags.size());
  route.flags = table(r, flags, what);
  if (segments.size() <= most_segments) {
    route.n_segments = i32(segments.size());
    route.segments = table(r, segments, what);
  } else {
    std::vector<RowTo> entries;
    for (auto& s : segments)
      for (i32 i = s.first; i < s.first + s.count; i++) entries.push_back({s.to + i, i, 0});
    std::stable_sort(entries.begin(), entries.end(), [](const RowTo& a, const RowTo& b) { return a.row < b.row; });
    std::vector<i32> begin(rank.space(info.space).rows + 1, 0);
    for (auto& e : entries) begin[e.row + 1]++;
    for (std::size_t i = 1; i < begin.size(); i++) begin[i] += begin[i - 1];
    route.n_entries = i32(entries.size());
    route.entries = table(r, entries, what);
    route.row_entries = table(r, begin, what);
  }
  route.ready = true;
  return route;
}

const ReductionMemory& State::reduction(Rank& rank, int slot) {
  RankState& r = of(rank);
  ReductionMemory& d = r.reductions[slot];
  if (d.connected) return d;
  std::vector<Packet*> to = d.targets == 1 ? std::vector<Packet*>{d.packets} : targets_of(r, rank, slot);
  d.pushes = i32(to.size());
  copy_in(r, d.to, to.data(), to.size() * sizeof(Packet*));
  d.connected = true;
  return d;
}

// Where a rank stores its parts: into everybody's packets, or into an outbox for whom it does not reach, or who adds for all.
std::vector<Packet*> State::targets_of(RankState& r, Rank& rank, int slot) {
  if (options.sums == Sums::by_host) return {summed_outbox(r, rank, slot)};
  if (nccl) find_senders(r, rank, slot);
  if (options.sums == Sums::by_nccl) return {nccl_outbox(r, slot)};
  std::vector<Packet*> to;
  std::vector<int> carried;
  for (int p = 0; p < rank.size(); p++) {
    Link way = link(r.index, p);
    if (way == Link::carried) carried.push_back(p);
    if (way == Link::memory) to.push_back(packets_of(r, p, slot));
  }
  if (!carried.empty()) {
    to.push_back(outbox(r, rank, slot, carried));
    expect_sums(r, rank, slot);
  }
  return to;
}

std::string State::missing_part(Rank& rank, int slot, int part, u32 epoch) {
  if (options.sums == Sums::by_host && of(rank).reductions[slot].targets > 1)
    return engine.summing()->missing(rank, slot, epoch) + ", the sum";
  return "rank " + std::to_string(sender_of(rank, slot, part)) + "'s part";
}

int State::sender_of(const Rank& rank, int slot, int part) {
  if (of(rank).reductions[slot].targets == 1) return rank.id();
  if (order() == SumOrder::grid) return part;
  auto first_part = [&](int r) {
    auto place = hall->find_place(r, Published::reduction, slot);
    return place ? place->first_part : part + 1;  // of another host, from which no word has come
  };
  int sender = 0;
  while (sender + 1 < rank.size() && first_part(sender + 1) <= part) sender++;
  return sender;
}

const RowLists& State::row_lists(RankState& r, const std::vector<RowRange>& ranges, int threads_a_row) {
  auto merged = merge(ranges);
  auto known = r.row_lists.find({threads_a_row, merged});
  if (known != r.row_lists.end()) return known->second;
  RowLists l;
  if (merged.empty()) return r.row_lists[{threads_a_row, merged}] = l;
  const i32 per_chunk = block_threads / threads_a_row;
  if (merged.back().second > most_rows)
    throw Error(Errc::unsupported, "a rank of the cuda engine holds at most " + std::to_string(most_rows) + " rows");
  std::vector<RowRange> chunks;
  for (auto [begin, end] : merged) {
    l.n_rows += end - begin;
    for (i32 row = begin; row < end; row += per_chunk) chunks.push_back({row, std::min(row + per_chunk, end)});
  }
  l.chunks = i32(chunks.size());
  if (merged.size() == 1) {
    l.first = merged[0].first;
    l.last = merged[0].second;
  } else if (i64(l.n_rows) * 4 >= i64(l.chunks) * per_chunk * 3) {
    l.chunk_list = table(r, chunks, "the row ranges of a command");
  } else {
    // Most chunks would be nearly empty: name each row instead, at 4 bytes a row.
    std::vector<i32> rows;
    for (auto [begin, end] : merged)
      for (i32 row = begin; row < end; row++) rows.push_back(row);
    l.chunks = (l.n_rows + per_chunk - 1) / per_chunk;
    l.row_list = table(r, rows, "the row list of a command");
  }
  return r.row_lists[{threads_a_row, merged}] = l;
}

const RowLists& State::tile_list(RankState& r, const Space& space, const std::vector<RowRange>& ranges) {
  auto merged = merge(ranges);
  auto known = r.tile_lists.find({space.id, merged});
  if (known != r.tile_lists.end()) return known->second;
  RowLists l;
  std::vector<i32> tiles;
  auto tile_at = [&](i32 row) {
    auto at = std::lower_bound(space.tile_rows.begin(), space.tile_rows.end(), row);
    if (at == space.tile_rows.end() || *at != row) bad_argument("a task group does not begin and end on a tile");
    return i32(at - space.tile_rows.begin());
  };
  for (auto [begin, end] : merged)
    for (i32 t = tile_at(begin); t < tile_at(end); t++) tiles.push_back(t);
  constexpr i32 per_chunk = block_threads / 32;
  l.n_tiles = i32(tiles.size());
  l.chunks = (l.n_tiles + per_chunk - 1) / per_chunk;
  l.tile_list = table(r, tiles, "the tile list of a command");
  return r.tile_lists[{space.id, merged}] = l;
}

const TileTables& State::tile_tables(RankState& r, const Space& space) {
  auto known = r.tile_tables.find(space.id);
  if (known != r.tile_tables.end()) return known->second;
  TileTables t;
  std::vector<i32> block;
  for (i32 b = 0; b < space.my_blocks(); b++) block.insert(block.end(), space.block_tiles[b + 1] - space.block_tiles[b], b);
  t.rows = table(r, space.tile_rows, "the tiles of a space");
  t.block = table(r, block, "the tiles of a space");
  t.of_block = table(r, space.block_tiles, "the tiles of a space");
  t.count = space.tiles();
  return r.tile_tables[space.id] = t;
}

}  // namespace sordino::cuda
