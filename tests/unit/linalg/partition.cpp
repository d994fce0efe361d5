#include "sordino/linalg/partition.hpp"

#include "check.hpp"
#include "matrices.hpp"
#include "sordino/base/error.hpp"

using namespace sordino;

namespace {

double weight(const CsrView& A, i64 begin, i64 end) {
  return 12.0 * double(A.indptr[end] - A.indptr[begin]) + 88.0 * double(end - begin);
}

/// Everything a partition promises, whatever made it.
void check_partition(const Partition& p, i64 n, int ranks) {
  REQUIRE(p.ranks() == ranks);
  CHECK(p.n == n);
  CHECK(p.first_row(0) == 0);
  CHECK(p.first_row(ranks) == n);
  for (i32 b = 0; b < p.blocks(); b++) REQUIRE(p.block_rows[std::size_t(b)] < p.block_rows[std::size_t(b) + 1]);
  i32 fewest = p.blocks(), most = 0;
  for (int r = 0; r < ranks; r++) {
    REQUIRE(p.rows(r) > 0);
    i32 mine = p.rank_blocks[std::size_t(r) + 1] - p.rank_blocks[std::size_t(r)];
    fewest = std::min(fewest, mine), most = std::max(most, mine);
    CHECK(p.owner(p.first_row(r)) == r);
    CHECK(p.owner(p.first_row(r + 1) - 1) == r);
  }
  CHECK(most - fewest <= 1);
}

/// The tiles and blocks of a space cover its rows, in order; no tile crosses a block.
void check_space(const Space& s, const Partition& p) {
  REQUIRE(s.tile_rows.front() == 0);
  REQUIRE(s.tile_rows.back() == s.rows);
  for (i32 t = 0; t < s.tiles(); t++) {
    i32 rows = s.tile_rows[std::size_t(t) + 1] - s.tile_rows[std::size_t(t)];
    REQUIRE(rows > 0);
    REQUIRE(rows <= 256);
  }
  CHECK(s.block_tiles.front() == 0);
  CHECK(s.block_tiles.back() == s.tiles());
  for (i32 b = 0; b <= s.my_blocks(); b++)
    REQUIRE(s.first_row + s.tile_rows[std::size_t(s.block_tiles[std::size_t(b)])] ==
            p.block_rows[std::size_t(s.first_block + b)]);
}

}  // namespace

TEST("even partitions of any size have no empty rank, and cover all rows") {
  NOTE(fresh::said());
  fresh::Random random(10);
  for (int round = 0; round < 200; round++) {
    i64 n = random.whole(1, random.chance(0.5) ? 50 : 5000);
    int ranks = int(random.whole(1, std::min<i64>(n, 2000)));
    NOTE("n = ", n, ", ranks = ", ranks);
    Partition p = even_partition(n, ranks);
    check_partition(p, n, ranks);
    i64 least = n, most = 0;
    for (int r = 0; r < ranks; r++) least = std::min<i64>(least, p.rows(r)), most = std::max<i64>(most, p.rows(r));
    CHECK(most - least <= 2 * (n / p.blocks() + 1));
  }
}

TEST("large blocks begin at whole warps of rows from their rank's first, and weigh what they should to a warp") {
  NOTE(fresh::said());
  fresh::Random random(12);
  for (int round = 0; round < 6; round++) {
    i64 n = 840 * 260 + random.whole(0, 100000);
    CsrMatrix A = matrices::scattered(random, n, 2, 40);
    for (int ranks : {1, 3, 4, 8}) {
      NOTE("n = ", n, ", ranks = ", ranks);
      Partition p = balance(A.view(), ranks);
      check_partition(p, n, ranks);
      double heaviest = 0, share = weight(A.view(), 0, n) / p.blocks();
      for (i64 i = 0; i + 32 < n; i += 32) heaviest = std::max(heaviest, weight(A.view(), i, i + 32));
      for (i32 b = 0; b < p.blocks(); b++) {
        REQUIRE(p.block_rows[std::size_t(b)] % 32 == 0);
        double w = weight(A.view(), p.block_rows[std::size_t(b)], p.block_rows[std::size_t(b) + 1]);
        CHECK(std::abs(w - share) <= 1.5 * heaviest);
      }
    }
    std::vector<i64> cuts = {0, n / 2 + 1, n};
    Partition within = balance_within(A.view(), cuts);
    for (int r = 0; r < 2; r++)
      for (i32 b = within.rank_blocks[std::size_t(r)]; b < within.rank_blocks[std::size_t(r) + 1]; b++)
        REQUIRE((within.block_rows[std::size_t(b)] - cuts[std::size_t(r)]) % 32 == 0);
  }
}

TEST("balanced partitions have no empty rank, and no block heavier than its share and one row") {
  NOTE(fresh::said());
  fresh::Random random(11);
  for (int round = 0; round < 60; round++) {
    i64 n = random.whole(1, 3000);
    auto zoo = matrices::zoo(random, n);
    auto& [name, A] = zoo[std::size_t(random.whole(0, i64(zoo.size()) - 1))];
    int ranks = int(random.whole(1, std::min<i64>(n, 1000)));
    NOTE(name, ", n = ", n, ", ranks = ", ranks);
    Partition p = balance(A.view(), ranks);
    check_partition(p, n, ranks);
    double heaviest = 0, share = weight(A.view(), 0, n) / p.blocks();
    for (i64 i = 0; i < n; i++) heaviest = std::max(heaviest, weight(A.view(), i, i + 1));
    for (i32 b = 0; b < p.blocks(); b++) {
      i64 begin = p.block_rows[std::size_t(b)], end = p.block_rows[std::size_t(b) + 1];
      CHECK(weight(A.view(), begin, end) <= share + heaviest + 1e-6 * share);
    }
  }
}

TEST("1 to 8 ranks hold equally many blocks, and all numbers of ranks up to 840 cut between the same blocks") {
  NOTE(fresh::said());
  fresh::Random random(12);
  CsrMatrix A = matrices::scattered(random, 2000, 3, 40);
  Partition one = balance(A.view(), 1);
  CHECK(one.blocks() == default_blocks);
  for (int ranks = 1; ranks <= 840; ranks++) {
    Partition p = balance(A.view(), ranks);
    REQUIRE(p.block_rows == one.block_rows);
    check_partition(p, 2000, ranks);
    if (ranks <= 8)
      for (int r = 0; r < ranks; r++) CHECK(p.rank_blocks[std::size_t(r) + 1] - p.rank_blocks[std::size_t(r)] == 840 / ranks);
  }
  for (int ranks : {841, 1000, 1999, 2000}) {
    Partition p = balance(A.view(), ranks);
    CHECK(p.blocks() == ranks);
    check_partition(p, 2000, ranks);
  }
}

TEST("one heavy row does not starve the others") {
  for (i64 heavy : {0, 7, 49}) {
    matrices::Rows r(50);
    for (i32 i = 0; i < 50; i++) r[std::size_t(i)][i] = 1;
    for (i32 j = 0; j < 50; j++) r[std::size_t(heavy)][j] = 1;
    CsrMatrix A = matrices::csr(r);
    for (int ranks : {1, 2, 3, 49, 50}) check_partition(balance(A.view(), ranks), 50, ranks);
  }
}

TEST("more ranks than rows are refused, and so are none") {
  CsrMatrix A = matrices::csr({{{0, 1.0}}, {{1, 1.0}}});
  CHECK_THROWS(balance(A.view(), 3), Error, "more ranks (3) than rows (2)");
  CHECK_THROWS(even_partition(2, 3), Error, "more ranks (3) than rows (2)");
  CHECK_THROWS(balance(A.view(), 0), Error, "the number of ranks must be at least 1, not 0");
  CHECK_THROWS(even_partition(2, -1), Error, "at least 1, not -1");
  check_partition(balance(A.view(), 2), 2, 2);
}

TEST("every row has the owner that holds it") {
  NOTE(fresh::said());
  fresh::Random random(13);
  i64 n = random.whole(900, 1500);
  int ranks = int(random.whole(2, 20));
  Partition p = even_partition(n, ranks);
  for (i64 row = 0; row < n; row++) {
    int r = p.owner(row);
    REQUIRE(r >= 0);
    REQUIRE(r < ranks);
    CHECK(p.first_row(r) <= row);
    CHECK(row < p.first_row(r + 1));
  }
}

TEST("a rank's space has the blocks of the partition, in tiles of at most 256 rows") {
  NOTE(fresh::said());
  fresh::Random random(14);
  for (i64 n : {i64(1), i64(2), i64(839), i64(841), i64(5000), random.whole(800000, 1000000)})
    for (int ranks : {1, 2, 3, 7}) {
      if (ranks > n) continue;
      NOTE("n = ", n, ", ranks = ", ranks);
      Partition p = even_partition(n, ranks);
      for (int r = 0; r < ranks; r++) {
        Space s = distributed_space(p, r);
        CHECK(s.n_global == n);
        CHECK(s.first_row == p.first_row(r));
        CHECK(s.rows == p.rows(r));
        CHECK(s.n_blocks == p.blocks());
        CHECK(!s.replicated);
        check_space(s, p);
      }
      Space whole = replicated_space(p);
      CHECK(whole.rows == n);
      CHECK(whole.first_row == 0);
      CHECK(whole.replicated);
      check_space(whole, p);
    }
}

TEST("rows that processes cut for their own ranks join to one partition") {
  NOTE(fresh::said());
  fresh::Random random(4);
  CsrMatrix A = matrices::scattered(random, 1000, 4, 1000);
  for (int most_blocks : {1, 7, default_blocks}) {
    NOTE("most blocks = ", most_blocks);
    const std::vector<i64> cuts{0, 1, 400, 1000};
    const std::vector<int> ranks{1, 3, 2};
    std::vector<std::vector<i64>> blocks;
    for (std::size_t p = 0; p < 3; p++) {
      std::vector<i64> starts;
      for (i64 i = cuts[p]; i <= cuts[p + 1]; i++) starts.push_back(A.indptr[std::size_t(i)] - A.indptr[std::size_t(cuts[p])]);
      CsrView mine{A.n, starts.data(), nullptr, nullptr};
      mine.first_row = cuts[p];
      mine.held = cuts[p + 1] - cuts[p];
      Partition part = balance(mine, ranks[p], most_blocks);
      CHECK(part.blocks() == std::max<i64>(ranks[p], std::min<i64>(mine.held, most_blocks)));
      for (int r = 0; r < ranks[p]; r++)
        blocks.emplace_back(part.block_rows.begin() + part.rank_blocks[std::size_t(r)],
                            part.block_rows.begin() + part.rank_blocks[std::size_t(r) + 1]);
    }
    Partition whole = partition_at(A.n, blocks);
    REQUIRE(whole.ranks() == 6);
    CHECK(whole.first_row(0) == 0);
    CHECK(whole.first_row(1) == 1);
    CHECK(whole.first_row(4) == 400);
    CHECK(whole.first_row(6) == 1000);
    for (int r = 0; r < 6; r++) {
      REQUIRE(whole.rows(r) > 0);
      CHECK(whole.owner(whole.first_row(r)) == r);
      check_space(distributed_space(whole, r), whole);
    }
  }
}

TEST("ranks own the rows that cuts say, in blocks, and what is no list of cuts is refused") {
  NOTE(fresh::said());
  fresh::Random random(41);
  CsrMatrix A = matrices::spd(random, 1000, 3, 1000);
  for (const std::vector<i64>& cuts : {std::vector<i64>{0, 1000}, {0, 1, 400, 999, 1000}, {0, 500, 1000}}) {
    Partition p = balance_within(A.view(), cuts);
    REQUIRE(p.ranks() == int(cuts.size()) - 1);
    for (int r = 0; r <= p.ranks(); r++) CHECK(p.first_row(r) == cuts[std::size_t(r)]);
    for (int r = 0; r < p.ranks(); r++) check_space(distributed_space(p, r), p);
    CHECK(p.blocks() <= default_blocks);
  }
  for (const std::vector<i64>& cuts : {std::vector<i64>{}, {0}, {0, 400}, {1, 1000}, {0, 400, 400, 1000}, {0, 600, 400, 1000}})
    CHECK_THROWS(balance_within(A.view(), cuts), Error, "must begin with 0, increase, and end with 1000");
}
