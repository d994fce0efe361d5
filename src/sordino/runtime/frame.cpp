#include "sordino/runtime/frame.hpp"

#include <algorithm>
#include <cstring>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

// Row ranges of a command that sums must consist of whole tiles.
std::vector<RowRange> tiles_of(const Space& space, const std::vector<RowRange>& rows) {
  std::vector<RowRange> tiles;
  auto index = [&](i32 row) {
    auto at = std::lower_bound(space.tile_rows.begin(), space.tile_rows.end(), row);
    if (at == space.tile_rows.end() || *at != row) bad_argument("a task group does not begin and end on a tile");
    return i32(at - space.tile_rows.begin());
  };
  for (auto& r : rows)
    if (r.size() > 0) tiles.push_back({index(r.begin), index(r.end)});
  return tiles;
}

}  // namespace

Frame::Frame(Rank& rank, const Recording& recording, std::vector<int> vector_map, std::vector<int> scalar_map,
             const std::function<double*(int)>& storage)
    : rank_(rank), rec_(recording) {
  bool real = rank.engine().arithmetic();
  for (auto& c : rec_.commands) {
    group_tiles_.emplace_back();
    if (!real) continue;
    for (auto& g : c.groups)
      group_tiles_.back().push_back(c.sums ? tiles_of(rank.space(c.space), *g.ranges) : std::vector<RowRange>{});
    if (!c.sums) continue;
    if (tile_sums_.size() <= std::size_t(c.queue)) tile_sums_.resize(std::size_t(c.queue) + 1);
    auto& sums = tile_sums_[c.queue];
    sums.resize(std::max(sums.size(), std::size_t(c.sums) * rank.space(c.space).tiles()));
  }
  for (int t = 0; t < rec_.period; t++) {
    vector_maps_.push_back(rotated(vector_map, rec_.rotate, t));
    scalar_maps_.push_back(rotated(scalar_map, rec_.rotate_scalars, t));
    bodies_.emplace_back();
    tests_.emplace_back();
    if (!real) continue;
    VectorTable table = [&](int logical) { return storage(vector_maps_[t][logical]); };
    for (auto& c : rec_.commands) {
      bodies_.back().push_back(c.body->bind(table));
      tests_.back().push_back(c.test ? c.test->copy() : nullptr);
    }
  }
}

ScalarView Frame::scalars(int turn) {
  return {rank_.scalar_values.data(), rank_.scalar_known.data(), scalar_maps_[turn].data(), rank_.scalar_names().data()};
}

void Frame::launch(const Command& c) {
  Ledger& l = rank_.ledger;
  l.commands++;
  l.memory_bytes += c.bytes;
  l.flops += c.flops;
  if (c.starts >= 0) {
    if (rank_.engine().arithmetic())
      std::fill_n(tile_sums_[c.queue].begin(), std::size_t(c.sums) * rank_.space(c.space).tiles(), 0.0);
    if (!rank_.space(c.space).replicated) {
      l.reductions += !c.joins;
      l.reduced_values += c.sums;
    }
  }
}

void Frame::head(int turn, int command) { bodies_[turn][command]->head(scalars(turn)); }

Verdict Frame::test(int turn, int command) {
  double value = 0;
  Verdict v = tests_[turn][command]->test(scalars(turn), &value);
  rank_.history.push_back(value);
  return v;
}

void Frame::tasks(int turn, int command, int group) {
  const Command& c = rec_.commands[command];
  Body& body = *bodies_[turn][command];
  if (c.sums == 0) {
    for (auto& r : *c.groups[group].ranges) body.rows(r.begin, r.end, nullptr);
    return;
  }
  const Space& space = rank_.space(c.space);
  for (auto& tiles : group_tiles_[command][group])
    for (i32 t = tiles.begin; t < tiles.end; t++)
      body.rows(space.tile_rows[t], space.tile_rows[t + 1], tile_sums_[c.queue].data() + std::size_t(t) * c.sums);
}

void Frame::host_task(int turn, int command) { bodies_[turn][command]->host(scalars(turn)); }

void Frame::block_sums(const Command& c, double* out) const {
  const Space& space = rank_.space(c.space);
  const auto& tile_sums = tile_sums_[c.queue];
  for (i32 b = 0; b < space.my_blocks(); b++)
    for (int k = 0; k < c.sums; k++) {
      double s = 0;
      for (i32 t = space.block_tiles[b]; t < space.block_tiles[b + 1]; t++) s += tile_sums[std::size_t(t) * c.sums + k];
      out[std::size_t(b) * c.sums + k] = s;
    }
}

void Frame::deliver(int turn, int slot, const double* all) {
  const Reduction& r = rank_.reductions()[slot];
  i32 blocks = rank_.space(r.space).n_blocks;
  int K = r.values();
  ScalarView view = scalars(turn);
  for (int k = 0; k < K; k++) {
    double sum[running_sums] = {};
    for (i32 b = 0; b < blocks; b++) sum[b % running_sums] += all[std::size_t(b) * K + k];
    store_scalar(view, r.to[k], fold(sum, blocks));
  }
}

std::vector<double> Frame::own_part(const Command& c, bool stop) const {
  i32 blocks = rank_.space(c.space).my_blocks();
  std::vector<double> sums(std::size_t(blocks) * c.sums), part(std::size_t(c.sums) + 1, 0.0);
  block_sums(c, sums.data());
  for (i32 b = 0; b < blocks; b++)
    for (int k = 0; k < c.sums; k++) part[std::size_t(k)] += sums[std::size_t(b) * c.sums + k];
  part.back() = stop;
  return part;
}

bool Frame::deliver_sum(int turn, int slot, const std::vector<double>& sum) {
  const Reduction& r = rank_.reductions()[slot];
  ScalarView view = scalars(turn);
  for (int k = 0; k < r.values(); k++) store_scalar(view, r.to[k], sum[std::size_t(k)]);
  return sum.back() > 0;
}

void Frame::book_put(const Exchange& exchange) {
  for (auto& p : exchange.peers)
    rank_.ledger.book_message(rank_.engine().carrier(rank_.id(), p.rank), p.send_count * i64(sizeof(double)));
}

void Frame::pack(const ExchangePeer& peer, const double* rows, double* to) {
  if (peer.send_rows.empty()) {
    std::memcpy(to, rows + peer.send_first, std::size_t(peer.send_count) * sizeof(double));
  } else {
    for (i32 k = 0; k < peer.send_count; k++) to[k] = rows[peer.send_rows[k]];
  }
}

}  // namespace sordino
