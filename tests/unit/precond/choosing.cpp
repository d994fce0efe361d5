// Rows that choose partners in any order: the pairs, and who joins whom, of rows that choose one after the other.
#include "sordino/precond/choosing.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/poisson.hpp"
#include "unit/fresh.hpp"
#include "unit/linalg/wild.hpp"

namespace {

using namespace sordino;
using namespace sordino::aggregates;

struct Level {
  const CsrMatrix& A;
  std::vector<Coupled> rows = {};
  Rule rule = {};

  explicit Level(const CsrMatrix& matrix) : A(matrix) {
    const Entries entries{A.indptr.data(), A.indices.data(), A.values.data()};
    for (i64 i = 0; i < A.n; i++) rows.push_back(coupled(entries, i));
    rule = {entries, rows.data()};
  }
  std::vector<i32> begin() const {
    std::vector<i32> states;
    for (const Coupled& row : rows) states.push_back(row.most < 0 ? outside : pending);
    return states;
  }
};

struct States {
  std::vector<i32>& of;
  i32 seen(i64 row) const { return of[std::size_t(row)]; }
  void take(i64 j, i64 row) const { of[std::size_t(j)] = i32(row); }
  void settle(i64 row, i32 state) const { of[std::size_t(row)] = state; }
  void fence() const {}
};

/// In order, none of which waits.
std::vector<i32> one_after_the_other(const Level& level, const OneRanks& rank) {
  std::vector<i32> states = level.begin();
  for (i64 i = rank.first; i < rank.end; i++) {
    if (states[std::size_t(i)] != pending) continue;
    const i32 j = level.rule.partner(i, rank, [&](i32 k) { return states[std::size_t(k)] == pending; });
    states[std::size_t(i)] = j < 0 ? unpaired : i32(i);
    if (j >= 0) states[std::size_t(j)] = i32(i);
  }
  return states;
}

template <class T>
void shuffle(fresh::Random& random, std::vector<T>& all) {
  for (std::size_t k = 1; k < all.size(); k++) std::swap(all[k], all[std::size_t(random.whole(0, i64(k)))]);
}

/// Those that have not chosen are asked in another order each time. `rounds`: how often.
std::vector<i32> shuffled(fresh::Random& random, const Level& level, const OneRanks& rank, int& rounds) {
  std::vector<i32> states = level.begin();
  std::vector<Choosing> left;
  for (i64 i = rank.first; i < rank.end; i++) left.push_back({i, rank});
  for (rounds = 0; !left.empty() && rounds <= level.A.n; rounds++) {
    shuffle(random, left);
    std::erase_if(left, [&](Choosing& row) { return row.is_done(level.rule, States{states}); });
  }
  CHECK(left.empty());
  return states;
}

/// As rows join that are left, one after the other.
std::vector<i32> joined_one_after_the_other(const Level& level, const OneRanks& rank, Lonely lonely, std::vector<i32> of) {
  for (i64 i = rank.first; i < rank.end; i++) {
    if (of[std::size_t(i)] != unpaired) continue;
    const i32 j = level.rule.joined(i, rank);
    if (j >= 0 && of[std::size_t(j)] == unpaired) of[std::size_t(j)] = j;
    of[std::size_t(i)] = j >= 0 ? of[std::size_t(j)] : level.rule.by_itself(i, lonely);
  }
  return of;
}

struct Roots {
  std::vector<i32>&rooted, &open;
  bool is_rooted(i64 row) const { return rooted[std::size_t(row)] != 0; }
  void root(i64 row) const { rooted[std::size_t(row)] = 1; }
  bool is_last(i64 row) const { return --open[std::size_t(row)] == 0; }
};

std::vector<i32> joined_at_once(fresh::Random& random, const Level& level, const OneRanks& rank, Lonely lonely,
                                const std::vector<i32>& states) {
  std::vector<i32> joins(states.size(), -1), others(states.size(), 0), rooted(states.size(), 0), of = states;
  const Joining joining{states.data(), joins.data()};
  std::vector<i64> left;
  for (i64 i = rank.first; i < rank.end; i++) {
    if (states[std::size_t(i)] != unpaired) continue;
    joins[std::size_t(i)] = level.rule.joined(i, rank);
    if (const i32 j = joining.roots_perhaps(i); j >= 0) others[std::size_t(j)]++;
    left.push_back(i);
  }
  std::vector<i32> open = others;
  shuffle(random, left);
  for (i64 i : left)
    if (others[std::size_t(i)] == 0) joining.tell(i, Roots{rooted, open});
  for (i64 i = rank.first; i < rank.end; i++) of[std::size_t(i)] = joining.aggregate_of(level.rule, rooted.data(), lonely, i);
  return of;
}

}  // namespace

TEST("rows that choose in any order get the partners that they get one after the other, and join the same") {
  NOTE(fresh::said());
  fresh::Random random(843);
  std::vector<CsrMatrix> all{poisson(23, 1, 1, 7, 1), poisson(9, 8, 7, 7, 1e3), poisson(6, 7, 5, 27, 1)};
  for (int couplings : {0, 1, 2, 5, 30}) all.push_back(matrices::wild(random, random.whole(50, 4000), couplings));
  for (bool in_order : {true, false}) all.push_back(matrices::growing(random, 200, in_order));
  for (const CsrMatrix& A : all) {
    const Level level(A);
    for (const OneRanks& rank : {OneRanks{0, A.n}, OneRanks{A.n / 5, A.n - A.n / 7}}) {
      NOTE(A.n, " rows with ", A.indices.size(), " entries, of which a rank has ", rank.end - rank.first);
      int rounds = 0;
      const std::vector<i32> expected = one_after_the_other(level, rank), found = shuffled(random, level, rank, rounds);
      CHECK(found == expected);
      for (Lonely lonely : {Lonely::outside, Lonely::alone})
        CHECK(joined_at_once(random, level, rank, lonely, expected) ==
              joined_one_after_the_other(level, rank, lonely, expected));
    }
  }
}

TEST("rows of a grid wait for few others in turn") {
  fresh::Random random(844);
  const CsrMatrix A = poisson(24, 24, 24, 7, 1);
  int rounds = 0;
  shuffled(random, Level(A), {0, A.n}, rounds);
  CHECK(rounds <= 4 * (24 + 24 + 24));
}
