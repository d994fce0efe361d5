#include "sordino/comm/traffic.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sordino/comm/communicator.hpp"

namespace sordino {
namespace {

constexpr int channel = 3;

std::vector<i32> range(i32 first, i32 count) {
  if (count < 0) bad_argument("a message of " + std::to_string(count) + " words");
  std::vector<i32> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

bool contiguous(const std::vector<i32>& rows) {
  for (std::size_t k = 1; k < rows.size(); k++)
    if (rows[k] != rows[0] + i32(k)) return false;
  return true;
}

ExchangePeer& peer(std::map<int, ExchangePeer>& peers, const Rank& rank, int other) {
  if (other < 0 || other >= rank.size() || other == rank.id())
    bad_argument("rank " + std::to_string(rank.id()) + " cannot trade words with rank " + std::to_string(other));
  auto [at, is_new] = peers.try_emplace(other);
  at->second.rank = other;
  return at->second;
}

// Each of two peers tells the other where its words land, at which place in its list the other stands, and what it expects.
void agree(Rank& rank, Exchange& x) {
  Communicator comm(rank, channel);
  for (std::size_t k = 0; k < x.peers.size(); k++) {
    auto& p = x.peers[k];
    comm.send(p.rank, std::vector<i32>{p.recv_first, i32(k), p.recv_count, p.send_count});
  }
  std::string wrong;
  for (auto& p : x.peers) {
    auto theirs = comm.receive<i32>(p.rank);
    p.remote_first = theirs[0];
    p.remote_index = theirs[1];
    auto complain = [&](int from, i32 sent, int to, i32 expected) {
      wrong = "rank " + std::to_string(from) + " sends " + std::to_string(sent) + " words to rank " + std::to_string(to) +
              ", which expects " + std::to_string(expected);
    };
    if (theirs[2] != p.send_count) complain(rank.id(), p.send_count, p.rank, theirs[2]);
    if (theirs[3] != p.recv_count) complain(p.rank, theirs[3], rank.id(), p.recv_count);
  }
  if (!wrong.empty()) bad_argument(wrong);
}

// Everybody trades with everybody: pieces of these lengths, or, if none are given, all own rows.
Exchange trade_with_all(Rank& rank, i32 own_rows, const std::vector<i32>& pieces) {
  Communicator comm(rank, channel);
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  i32 first = 0;
  for (int q = 0; q < rank.size(); q++) {
    i32 count = pieces.empty() ? own_rows : pieces[std::size_t(q)];
    if (q != rank.id()) {
      sendings.push_back({q, range(first, count)});
      comm.send(q, std::vector<i32>{count});
    }
    if (!pieces.empty()) first += count;
  }
  for (int q = 0; q < rank.size(); q++)
    if (q != rank.id()) receivings.push_back({q, comm.receive<i32>(q)[0]});
  Exchange x = point_to_point(rank, own_rows, sendings, receivings);
  x.everybody = true;
  return x;
}

}  // namespace

Exchange point_to_point(Rank& rank, i32 own_rows, const std::vector<Sending>& sendings,
                        const std::vector<Receiving>& receivings) {
  std::map<int, ExchangePeer> peers;
  for (auto& s : sendings) {
    ExchangePeer& p = peer(peers, rank, s.rank);
    if (p.send_count > 0) bad_argument("two messages to rank " + std::to_string(s.rank) + ": send them as one");
    for (i32 row : s.rows)
      if (row < 0 || row >= own_rows)
        bad_argument("row " + std::to_string(row) + " is to be sent, of " + std::to_string(own_rows));
    p.send_count = i32(s.rows.size());
    if (contiguous(s.rows))
      p.send_first = s.rows.empty() ? 0 : s.rows[0];
    else
      p.send_rows = s.rows;
  }
  Exchange x;
  for (auto& r : receivings) {
    ExchangePeer& p = peer(peers, rank, r.rank);
    if (p.recv_count > 0) bad_argument("two messages from rank " + std::to_string(r.rank) + ": receive them as one");
    p.recv_first = own_rows + x.ghosts;
    p.recv_count = r.words;
    x.ghosts += r.words;
  }
  for (auto& [other, p] : peers) x.peers.push_back(p);
  if (own_rows > 0) x.producer.first = x.consumer.rest = {{0, own_rows}};
  agree(rank, x);
  return x;
}

Exchange broadcast_from(Rank& rank, i32 own_rows, i32 words, int root) {
  if (rank.id() != root) return point_to_point(rank, own_rows, {}, {{root, words}});
  std::vector<Sending> all;
  for (int q = 0; q < rank.size(); q++)
    if (q != root) all.push_back({q, range(0, words)});
  return point_to_point(rank, own_rows, all, {});
}

Exchange gather_at(Rank& rank, i32 own_rows, int root) {
  Communicator comm(rank, channel);
  if (rank.id() != root) {
    comm.send(root, std::vector<i32>{own_rows});
    return point_to_point(rank, own_rows, {{root, range(0, own_rows)}}, {});
  }
  std::vector<Receiving> all;
  for (int q = 0; q < rank.size(); q++)
    if (q != root) all.push_back({q, comm.receive<i32>(q)[0]});
  return point_to_point(rank, own_rows, {}, all);
}

Exchange scatter_from(Rank& rank, const std::vector<i32>& counts, int root) {
  if (int(counts.size()) != rank.size()) bad_argument("a scatter needs a count for every rank");
  if (rank.id() != root) return point_to_point(rank, 0, {}, {{root, counts[std::size_t(rank.id())]}});
  std::vector<Sending> all;
  i32 first = 0;
  for (int q = 0; q < rank.size(); first += counts[std::size_t(q++)])
    if (q != root) all.push_back({q, range(first, counts[std::size_t(q)])});
  return point_to_point(rank, first, all, {});
}

Exchange all_gather_exchange(Rank& rank, i32 own_rows) { return trade_with_all(rank, own_rows, {}); }

Exchange all_to_all_exchange(Rank& rank, const std::vector<i32>& counts) {
  if (int(counts.size()) != rank.size()) bad_argument("an all-to-all needs a count for every rank");
  return trade_with_all(rank, std::accumulate(counts.begin(), counts.end(), 0), counts);
}

}  // namespace sordino
