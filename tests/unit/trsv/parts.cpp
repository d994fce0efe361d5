// What threads find of a triangle in parts, and what is found sooner of one whose columns are sorted, is what one thread finds
// of any; and columns are put in order.
#include "sordino/trsv/parts.hpp"

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/entries.hpp"
#include "sordino/trsv/level_factor.hpp"
#include "sordino/trsv/sorted_columns.hpp"
#include "sordino/trsv/tiny_pivots.hpp"
#include "sordino/trsv/trial.hpp"
#include "unit/trsv/oracle.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using triangles::Columns;

LowerPattern sorted(const Columns& c) {
  LowerPattern p = c.pattern();
  p.sorted = true;
  return p;
}

Columns in_order(Columns c) {
  for (std::size_t j = 0; j < std::size_t(c.n); j++) std::sort(c.rows.begin() + c.begin[j], c.rows.begin() + c.begin[j + 1]);
  return c;
}

/// Large ones have several parts.
std::vector<Columns> some(fresh::Random& random) {
  std::vector<Columns> all;
  for (const Columns& c : triangles::some(random, 10)) all.push_back(in_order(c));
  all.push_back(in_order(triangles::nested_grid(9, 8, 7)));
  all.push_back(in_order(triangles::grid(30, 29, 28)));
  all.push_back(triangles::scattered(random, random.whole(500, 600), random.real(0.6, 1)));
  return all;
}

/// The filled pattern itself, with the diagonal.
Columns whole(const Columns& c) {
  const auto L = triangles::filled(c);
  std::vector<std::vector<i32>> below(L.size());
  for (std::size_t j = 0; j < L.size(); j++)
    for (std::size_t i = j + 1; i < L.size(); i++)
      if (L[j][i]) below[j].push_back(i32(i));
  return triangles::columns_of(below);
}

bool same(const Elimination& a, const Elimination& b) {
  return a.parent == b.parent && a.order == b.order && a.counts == b.counts && a.nothing == b.nothing;
}

bool same(const Supernodes& a, const Supernodes& b) {
  return a.order == b.order && a.column == b.column && a.row_begin == b.row_begin && a.rows == b.rows && a.parent == b.parent;
}

}  // namespace

TEST("parts have all columns and rows, once, and their number depends on the threads and the entries") {
  NOTE(fresh::said());
  fresh::Random random(91);
  for (const Columns& c : some(random))
    for (int threads : {1, 2, 7, 32})
      for (const auto& cuts : {columns_in_parts(sorted(c), threads), rows_in_parts(sorted(c), threads)}) {
        CHECK(cuts.front() == 0);
        CHECK(cuts.back() == c.n);
        CHECK(std::is_sorted(cuts.begin(), cuts.end()));
        CHECK(i64(cuts.size()) - 1 <= threads);
      }
  const Columns large = triangles::grid(40, 40, 40);
  CHECK(columns_in_parts(large.pattern(), 4).size() == 5);
  CHECK(rows_in_parts(sorted(large), 4).size() == 5);
  CHECK(rows_in_parts(large.pattern(), 4).size() == 2);  // one, where columns do not know where rows are
}

TEST("elimination and supernodes of a sorted pattern are those of any, filled or not, by any number of threads") {
  NOTE(fresh::said());
  fresh::Random random(92);
  for (const Columns& given : triangles::some(random, 20))
    for (const Columns& c : {in_order(given), whole(given)}) {
      const Elimination wanted = eliminate(c.pattern());
      for (int threads : {1, 3}) CHECK(same(eliminate(sorted(c), threads), wanted));
      CHECK(wanted.nothing == (c.rows.size() == whole(c).rows.size()));
      Elimination slow = wanted;
      slow.nothing = false;  // rows of supernodes are then those of all columns
      CHECK(same(find_supernodes(sorted(c), wanted), find_supernodes(c.pattern(), slow)));
    }
}

TEST("a pattern is given up for its fill only where elimination fills more, and a grid is at once") {
  NOTE(fresh::said());
  fresh::Random random(93);
  for (const Columns& given : triangles::some(random, 30)) {
    const Columns c = in_order(given);
    const i64 all = eliminate(c.pattern()).filled();
    for (i64 most : {i64(0), c.n, all / 2, all - 1, all, 2 * all})
      if (!eliminate_up_to(sorted(c), most, int(random.whole(1, 4)))) CHECK(all > most);
    CHECK(eliminate_up_to(sorted(c), all).has_value());
  }
  const Columns large = triangles::grid(32, 32, 32);
  CHECK(!eliminate_up_to(sorted(large), most_filled(sorted(large), 8), 3).has_value());
  CHECK(most_filled(sorted(large), 8) == most_filled(large.pattern(), 8));
}

TEST("threads find the bits of one thread: checks, prints, tiny pivots, trials and errors") {
  NOTE(fresh::said());
  fresh::Random random(94);
  for (const Columns& c : some(random)) {
    const auto check = [&]<class V>(V) {
      const auto values = triangles::values_of<V>(c, random);
      TriangleView<V> L{c.pattern(), values.data(), random.chance(0.3)};
      CHECK(print_of(L.pattern, 5) == print_of(L.pattern));
      const auto x = triangles::vector_of<V>(c.n * 4, random), b = triangles::vector_of<V>(c.n * 4, random);
      for (How how : {How::plain, How::transposed, How::adjoint}) {
        L.pattern.sorted = false;
        const auto trial = trial_of(L, how);
        const auto errors = backward_errors(L, how, b.data(), x.data(), 4);
        const TinyPivots tiny = tiny_pivots(L);
        CHECK(validate(L, 3));
        L.pattern.sorted = true;
        for (int threads : {1, 2, 6}) {
          CHECK(oracle::same_bits(trial_of(L, how, threads), trial));
          CHECK(backward_errors(L, how, b.data(), x.data(), 4, threads) == errors);
          const TinyPivots found = tiny_pivots(L, threads);
          CHECK((found.count == tiny.count && found.row == tiny.row && found.largest == tiny.largest));
        }
      }
    };
    check(float{}), check(double{}), check(Number{});
  }
}

TEST("what is wrong with a triangle is named alike by any number of threads: its first column") {
  NOTE(fresh::said());
  fresh::Random random(95);
  Columns c = triangles::scattered(random, 600, 0.9);
  auto values = triangles::values_of<double>(c, random);
  const TriangleView<double> L{c.pattern(), values.data()};
  const auto said = [&](int threads) {
    try {
      validate(L, threads);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  values[std::size_t(c.begin[500])] = 0, values[std::size_t(c.begin[120])] = NAN;
  for (int threads : {1, 2, 6}) CHECK(said(threads).find("(120, 120)") != std::string::npos);
  std::swap(c.rows[std::size_t(c.begin[50])], c.rows[std::size_t(c.begin[51]) - 1]);  // in any order
  values[std::size_t(c.begin[500])] = values[std::size_t(c.begin[120])] = 1;
  CHECK(!validate(L, 3));
  c.rows[std::size_t(c.begin[50])] = c.rows[std::size_t(c.begin[50]) + 1];
  for (int threads : {1, 2, 6}) CHECK(said(threads).find("two entries at") != std::string::npos);
}

TEST("rows by levels hold each entry beside its column, whoever fills them") {
  NOTE(fresh::said());
  fresh::Random random(96);
  for (const Columns& c : some(random)) {
    const auto values = triangles::values_of<double>(c, random);
    const bool unit = random.chance(0.5);
    LevelFactor<double> one({c.pattern(), values.data(), unit}), several({sorted(c), values.data(), unit}, {.threads = 5});
    for (Direction way : {Direction::forward, Direction::backward}) {
      one.prepare(way), several.prepare(way);
      const LevelRows &rows = one.rows(way), &others = several.rows(way);
      CHECK((rows.order == others.order && rows.begin == others.begin && rows.columns == others.columns));
      CHECK(std::equal(one.values(way), one.values(way) + rows.entries(), several.values(way)));
      CHECK(std::equal(one.pivots(way), one.pivots(way) + c.n, several.pivots(way)));
      const std::vector<i32> place = places_of(rows);
      i64 found = 0;
      for (i64 j = 0; j < c.n; j++)
        for (i64 k = c.begin[std::size_t(j)]; k < c.begin[std::size_t(j) + 1]; k++) {
          const i64 i = c.rows[std::size_t(k)], row = way == Direction::forward ? i : j, column = i + j - row;
          if (i == j) continue;
          const i64 p = place[std::size_t(row)];
          const auto begin = rows.columns.begin() + rows.begin[std::size_t(p)], end = begin + rows.count(p);
          CHECK(std::is_sorted(begin, end));
          const auto at = std::lower_bound(begin, end, place[std::size_t(column)]);
          CHECK((at != end && *at == place[std::size_t(column)]));
          CHECK(one.values(way)[at - rows.columns.begin()] == values[std::size_t(k)]);
          found++;
        }
      CHECK(found == rows.entries());
    }
  }
}

TEST("columns are put in order, with their values, whatever order they have, and twins are told") {
  NOTE(fresh::said());
  fresh::Random random(97);
  for (const Columns& wanted : some(random)) {
    Columns given = wanted;
    const i64 together = random.whole(1, 5);  // columns that have their rows in one order, as those of a supernode
    u64 seed = 0;
    const auto key = [&](i32 row) { return std::pair((u64(row) ^ seed) * 0x9e3779b97f4a7c15u, row); };
    for (i64 j = 0; j < wanted.n; j++) {
      if (j % together == 0) seed = u64(random.whole(0, 1 << 30));
      std::sort(given.rows.begin() + given.begin[std::size_t(j)], given.rows.begin() + given.begin[std::size_t(j) + 1],
                [&](i32 a, i32 b) { return key(a) < key(b); });
    }
    std::vector<double> values;
    for (std::size_t k = 0; k < given.rows.size(); k++) values.push_back(given.rows[k] + 0.5);
    for (int threads : {1, 4}) {
      const auto s = sorted_columns(given.pattern(), values.data(), threads);
      CHECK(std::equal(s.rows.begin(), s.rows.end(), wanted.rows.begin(), wanted.rows.end()));
      CHECK(std::equal(s.rows.begin(), s.rows.end(), s.values.begin(), [](i32 row, double v) { return v == row + 0.5; }));
      CHECK(s.moved == (given.rows != wanted.rows));
      CHECK(s.unique);
    }
  }
  Columns twins = triangles::scattered(random, 40, 0.5);
  twins.rows[1] = twins.rows[0];
  CHECK(!sorted_columns(twins.pattern(), std::vector<double>(twins.rows.size()).data(), 1).unique);
}
