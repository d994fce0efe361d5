#include "sordino/linalg/row_move.hpp"

#include <algorithm>

namespace sordino {
namespace {

struct Rows {
  i64 begin = 0, end = 0;
  i64 count() const { return std::max<i64>(end - begin, 0); }
};

Rows rows_of(const Partition& p, int rank) { return {p.first_row(rank), p.first_row(rank + 1)}; }

Rows common(const Rows& a, const Rows& b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

void add_owners(const Partition& p, const Rows& rows, int but, std::vector<int>& to) {
  if (rows.count() == 0) return;
  for (int r = p.owner(rows.begin), last = p.owner(rows.end - 1); r <= last; r++)
    if (r != but && p.rows(r) > 0) to.push_back(r);
}

/// Those between which and this one rows go, in order.
std::vector<int> peers_of(const Partition& from, const Partition& to, int rank) {
  std::vector<int> peers;
  add_owners(to, rows_of(from, rank), rank, peers);
  add_owners(from, rows_of(to, rank), rank, peers);
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

MovedPlace place_of(const Rows& from, const Rows& to) {
  const i64 begin = std::clamp(from.begin - to.begin, i64{0}, to.count()),
            end = std::clamp(from.end - to.begin, begin, to.count());
  return {i32(begin), i32(end), i32(to.begin - from.begin), i32(from.count())};
}

/// Where in its storage a rank gets that row of another one's.
i32 landing(const Partition& from, const Partition& to, int rank, i64 row) {
  const Rows of = rows_of(to, rank);
  return place_of(rows_of(from, rank), of)(i32(row - of.begin));
}

}  // namespace

RowMove::RowMove(const Partition& from, const Partition& to, int rank)
    : place_(place_of(rows_of(from, rank), rows_of(to, rank))) {
  const Rows mine = rows_of(from, rank), wanted = rows_of(to, rank);
  exchange_.ghosts = i32(ghosts_of(from, to, rank));
  for (int q : peers_of(from, to, rank)) {
    const Rows sent = common(mine, rows_of(to, q)), got = common(rows_of(from, q), wanted);
    const std::vector<int> of_peer = peers_of(from, to, q);
    ExchangePeer p;
    p.rank = q;
    p.remote_index = int(std::lower_bound(of_peer.begin(), of_peer.end(), rank) - of_peer.begin());
    p.recv_count = i32(got.count());
    p.recv_first = p.recv_count > 0 ? landing(from, to, rank, got.begin) : i32(mine.count());
    p.send_count = i32(sent.count());
    if (p.send_count > 0) {
      p.send_first = i32(sent.begin - mine.begin);
      p.remote_first = landing(from, to, q, sent.begin);
    }
    exchange_.peers.push_back(p);
  }
}

i64 RowMove::ghosts_of(const Partition& from, const Partition& to, int rank) {
  return rows_of(to, rank).count() - common(rows_of(from, rank), rows_of(to, rank)).count();
}

}  // namespace sordino
