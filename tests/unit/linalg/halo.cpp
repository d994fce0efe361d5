// Halos of random unsymmetric matrices against a brute-force oracle.
#include "sordino/linalg/halo.hpp"

#include "check.hpp"
#include "matrices.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;
using host::HostEngine;

namespace {

/// The global rows that rank q's rows of A touch outside its own.
std::vector<i64> foreign(const CsrView& A, const Partition& p, int q) {
  std::set<i64> all;
  for (i64 i = p.first_row(q); i < p.first_row(q + 1); i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++)
      if (p.owner(A.indices[k]) != q) all.insert(A.indices[k]);
  return {all.begin(), all.end()};
}

std::vector<i64> owned_by(const std::vector<i64>& rows, const Partition& p, int q) {
  std::vector<i64> mine;
  for (i64 row : rows)
    if (p.owner(row) == q) mine.push_back(row);
  return mine;
}

std::vector<Exchange> halos(const CsrView& A, const Partition& p) {
  std::vector<Exchange> all(std::size_t(p.ranks()));
  HostEngine engine({.ranks = p.ranks(), .timeout = 20});
  engine.run(
      [&](Rank& s) {
        Space space = distributed_space(p, s.id());
        all[std::size_t(s.id())] = make_halo(s, p, space, foreign(A, p, s.id()));
      },
      {});
  return all;
}

void check_halo(const CsrView& A, const Partition& p, const std::vector<Exchange>& halos) {
  for (int me = 0; me < p.ranks(); me++) {
    const Exchange& x = halos[std::size_t(me)];
    auto ghosts = foreign(A, p, me);
    REQUIRE(x.ghosts == ghosts.size());
    CHECK(!x.everybody);
    std::vector<int> peers, expected;
    for (int q = 0; q < p.ranks(); q++)
      if (q != me && (!owned_by(ghosts, p, q).empty() || !owned_by(foreign(A, p, q), p, me).empty())) expected.push_back(q);
    for (auto& peer : x.peers) peers.push_back(peer.rank);
    REQUIRE(peers == expected);
    for (std::size_t k = 0; k < x.peers.size(); k++) {
      const ExchangePeer& peer = x.peers[k];
      NOTE("rank ", me, " and ", peer.rank);
      auto comes = owned_by(ghosts, p, peer.rank), theirs = foreign(A, p, peer.rank), goes = owned_by(theirs, p, me);
      REQUIRE(peer.recv_count == comes.size());
      for (std::size_t i = 0; i < comes.size(); i++)
        CHECK(ghosts[std::size_t(peer.recv_first - p.rows(me)) + i] == comes[i]);  // ghost k lies at row rows + k
      REQUIRE(peer.send_count == goes.size());
      for (std::size_t i = 0; i < goes.size(); i++) CHECK(p.first_row(me) + peer.send_row(i32(i)) == goes[i]);
      const ExchangePeer& back = halos[std::size_t(peer.rank)].peers[std::size_t(peer.remote_index)];
      CHECK(back.rank == me);
      CHECK(back.remote_index == k);
      if (peer.send_count > 0) CHECK(peer.remote_first == back.recv_first);
      CHECK(peer.send_count == back.recv_count);
    }
  }
}

}  // namespace

TEST("peers, rows to send and their places are those of a brute-force search") {
  NOTE(fresh::said());
  fresh::Random random(30);
  for (int round = 0; round < 30; round++) {
    i64 n = random.whole(1, 400);
    int ranks = int(random.whole(1, std::min<i64>(n, 9)));
    for (auto& [name, A] : matrices::zoo(random, n)) {
      NOTE(name, ", n = ", n, ", ranks = ", ranks);
      Partition p = balance(A.view(), ranks);
      check_halo(A.view(), p, halos(A.view(), p));
    }
  }
}

TEST("one row a rank") {
  NOTE(fresh::said());
  fresh::Random random(31);
  for (i64 n : {2, 3, 5, 12}) {
    CsrMatrix A = matrices::scattered(random, n, 2, n);
    Partition p = balance(A.view(), int(n));
    check_halo(A.view(), p, halos(A.view(), p));
  }
}

TEST("many ranks hear of each other all the same") {
  NOTE(fresh::said());
  fresh::Random random(33);
  const int ranks = 150;
  CsrMatrix A = matrices::scattered(random, 2 * ranks, 2, 2 * ranks);
  Partition p = balance(A.view(), ranks);
  check_halo(A.view(), p, halos(A.view(), p));
}

TEST("a need that is not mutual makes peers of both") {
  // rank 1 reads rank 0's row, rank 0 reads nothing of rank 1
  CsrMatrix A = matrices::csr({{{0, 1.0}}, {{0, 1.0}, {1, 1.0}}});
  Partition p = balance(A.view(), 2);
  auto x = halos(A.view(), p);
  REQUIRE(x[0].peers.size() == 1);
  REQUIRE(x[1].peers.size() == 1);
  CHECK(x[0].peers[0].send_count == 1);
  CHECK(x[0].peers[0].recv_count == 0);
  CHECK(x[1].peers[0].send_count == 0);
  CHECK(x[1].rows_sent() == 0);
}

TEST("contiguous rows are sent without a list") {
  CsrMatrix A = matrices::csr({{{0, 1.0}}, {{1, 1.0}}, {{2, 1.0}}, {{0, 1.0}, {1, 1.0}, {2, 1.0}, {3, 1.0}}});
  Partition p = even_partition(4, 2);  // rows 0, 1 and 2, 3
  auto x = halos(A.view(), p);
  CHECK(x[0].peers[0].send_rows.empty());
  CHECK(x[0].peers[0].send_first == 0);
  CHECK(x[0].peers[0].send_count == 2);
}

TEST("rows that others wait for are in the tiles that a producer computes first, and no row is in none or in two") {
  NOTE(fresh::said());
  fresh::Random random(32);
  for (int round = 0; round < 10; round++) {
    i64 n = random.whole(2000, 6000);
    int ranks = int(random.whole(2, 4));
    CsrMatrix A = matrices::scattered(random, n, 2, random.whole(1, 300));
    Partition p = balance(A.view(), ranks);
    auto all = halos(A.view(), p);
    for (int me = 0; me < ranks; me++) {
      const Exchange& x = all[std::size_t(me)];
      std::vector<int> first(std::size_t(p.rows(me))), rest = first;
      for (auto& r : x.producer.first)
        for (i32 i = r.begin; i < r.end; i++) first[std::size_t(i)]++;
      for (auto& r : x.producer.rest)
        for (i32 i = r.begin; i < r.end; i++) rest[std::size_t(i)]++;
      for (i32 i = 0; i < p.rows(me); i++) REQUIRE(first[std::size_t(i)] + rest[std::size_t(i)] == 1);
      for (auto& peer : x.peers)
        for (i32 k = 0; k < peer.send_count; k++) CHECK(first[std::size_t(peer.send_row(k))] == 1);
    }
  }
}

TEST("an all-gather sends every rank's rows to all others, at their global places") {
  for (int ranks : {1, 2, 3, 7}) {
    Partition p = even_partition(100, ranks);
    HostEngine engine({.ranks = ranks});
    std::vector<Exchange> all(static_cast<std::size_t>(ranks));
    engine.run([&](Rank& s) { all[std::size_t(s.id())] = make_gather(s, p, replicated_space(p)); }, {});
    for (int me = 0; me < ranks; me++) {
      const Exchange& x = all[std::size_t(me)];
      CHECK(x.everybody);
      CHECK(x.ghosts == 0);
      REQUIRE(x.peers.size() == ranks - 1);
      for (std::size_t k = 0; k < x.peers.size(); k++) {
        auto& peer = x.peers[k];
        CHECK(peer.recv_first == p.first_row(peer.rank));
        CHECK(peer.recv_count == p.rows(peer.rank));
        CHECK(peer.send_first == p.first_row(me));
        CHECK(peer.remote_first == p.first_row(me));
        CHECK(peer.send_count == p.rows(me));
        auto& back = all[std::size_t(peer.rank)].peers[std::size_t(peer.remote_index)];
        CHECK(back.rank == me);
        CHECK(back.remote_index == k);
      }
      CHECK(x.consumer.first[0].begin == p.first_row(me));
      CHECK(x.consumer.first[0].end == p.first_row(me + 1));
    }
  }
}

TEST("tiles are merged into ranges") {
  Space s;
  s.rows = 50;
  set_tiles(s, {0, 20, 50}, 10);
  REQUIRE(s.tiles() == 5);
  auto [yes, no] = split_tiles(s, {1, 1, 0, 1, 0});
  REQUIRE(yes.size() == 2);
  CHECK(yes[0].begin == 0);
  CHECK(yes[0].end == 20);
  CHECK(yes[1].begin == 30);
  CHECK(yes[1].end == 40);
  REQUIRE(no.size() == 2);
  CHECK(no[0].begin == 20);
  CHECK(no[1].end == 50);
}
