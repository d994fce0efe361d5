// What must have arrived, for every pattern of messages, on any engine.
#pragma once
#include "check.hpp"
#include "unit/comm/traffic_programs.hpp"

namespace traffic {

inline double value(int rank, i32 row) { return 1000.0 * rank + row + 200000; }  // in the third round

/// expected(rank) lists (rank, row) of its ghosts.
using Ghosts = std::vector<std::pair<int, i32>>;
inline void check(Engine& engine, const Rows& own_rows, const Build& build, const std::function<Ghosts(int)>& expected) {
  auto all = after_three_rounds(engine, own_rows, build);
  for (int r = engine.first_rank(); r < engine.first_rank() + engine.local_ranks(); r++) {
    NOTE("rank ", r);
    Ghosts words;
    for (i32 i = 0; i < own_rows(r); i++) words.push_back({r, i});
    for (auto& g : expected(r)) words.push_back(g);
    auto& got = all[std::size_t(r)];
    REQUIRE(got.size() == words.size());
    for (std::size_t i = 0; i < words.size(); i++) REQUIRE(got[i] == value(words[i].first, words[i].second));
  }
}

inline void add_rows(Ghosts& g, int rank, i32 first, i32 count) {
  for (i32 i = 0; i < count; i++) g.push_back({rank, first + i});
}

inline void ring(Engine& engine) {  // every second row goes to the right, backwards
  int P = engine.size();
  std::vector<i32> rows{8, 6, 4, 2, 0};
  check(
      engine, [](int) { return 10; },
      [=](Rank& s) { return point_to_point(s, 10, {{(s.id() + 1) % P, rows}}, {{(s.id() + P - 1) % P, 5}}); },
      [=](int r) {
        Ghosts g;
        for (i32 row : rows) g.push_back({(r + P - 1) % P, row});
        return g;
      });
}

inline void collectives(Engine& engine) {
  int P = engine.size();
  auto rows_of = [](int r) { return i32(3 + 2 * r); };
  for (int root : {0, P - 1}) {
    NOTE("root ", root);
    check(
        engine, [](int) { return 7; }, [=](Rank& s) { return broadcast_from(s, 7, 7, root); },
        [=](int r) {
          Ghosts g;
          if (r != root) add_rows(g, root, 0, 7);
          return g;
        });
    check(
        engine, rows_of, [=](Rank& s) { return gather_at(s, rows_of(s.id()), root); },
        [=](int r) {
          Ghosts g;
          for (int q = 0; q < P; q++)
            if (r == root && q != root) add_rows(g, q, 0, rows_of(q));
          return g;
        });
    std::vector<i32> counts;
    i32 total = 0;
    for (int q = 0; q < P; q++) total += counts.emplace_back(i32(2 + q % 3));
    check(
        engine, [=](int r) { return r == root ? total : 0; }, [=](Rank& s) { return scatter_from(s, counts, root); },
        [=](int r) {
          Ghosts g;
          i32 first = std::accumulate(counts.begin(), counts.begin() + r, 0);
          if (r != root) add_rows(g, root, first, counts[std::size_t(r)]);
          return g;
        });
  }
  check(
      engine, rows_of, [=](Rank& s) { return all_gather_exchange(s, rows_of(s.id())); },
      [=](int r) {
        Ghosts g;
        for (int q = 0; q < P; q++)
          if (q != r) add_rows(g, q, 0, rows_of(q));
        return g;
      });
  auto piece = [](int from, int to) { return i32((from * 3 + to * 5) % 4); };  // some are empty
  auto pieces = [=](int from) {
    std::vector<i32> counts;
    for (int q = 0; q < P; q++) counts.push_back(piece(from, q));
    return counts;
  };
  auto sum_to = [=](int from, int to) {
    i32 n = 0;
    for (int q = 0; q < to; q++) n += piece(from, q);
    return n;
  };
  check(
      engine, [=](int r) { return sum_to(r, P); }, [=](Rank& s) { return all_to_all_exchange(s, pieces(s.id())); },
      [=](int r) {
        Ghosts g;
        for (int q = 0; q < P; q++)
          if (q != r) add_rows(g, q, sum_to(q, r), piece(q, r));
        return g;
      });
}

inline double folded_by(Fold by, double value, double other) {
  return by == Fold::sum       ? value + other
         : by == Fold::product ? value * other
         : by == Fold::min     ? std::min(value, other)
                               : std::max(value, other);
}

inline void sums(Engine& engine) {
  for (Fold by : {Fold::sum, Fold::product, Fold::min, Fold::max})
    for (i32 words : {engine.size(), 50, 1000}) {
      NOTE("fold ", int(by), ", ", words, " words");
      auto all = summed(engine, words, by);
      for (int r = engine.first_rank(); r < engine.first_rank() + engine.local_ranks(); r++)
        for (i32 i = 0; i < words; i++) {
          double expected = value(0, i);
          for (int q = 1; q < engine.size(); q++) expected = folded_by(by, expected, value(q, i));
          REQUIRE(all[std::size_t(r)][std::size_t(i)] == expected);
        }
    }
}

/// Of small numbers, ranks 0, 1, ...
inline double small_folded(int ranks, i32 row, Fold by) {
  double value = small(0, row, 2);
  for (int q = 1; q < ranks; q++) value = folded_by(by, value, small(q, row, 2));
  return value;
}

/// reduce-scatters of segments of different lengths, some of them empty or all, and reduces to the first and to the last.
inline void folds(Engine& engine) {
  int P = engine.size();
  auto check_rows = [&](const std::vector<double>& got, i32 first, i32 words, Fold by) {
    REQUIRE(i32(got.size()) == words);
    for (i32 i = 0; i < words; i++) REQUIRE(got[std::size_t(i)] == small_folded(P, first + i, by));
  };
  for (Fold by : {Fold::sum, Fold::product, Fold::min, Fold::max})
    for (i32 words : {0, 1, 129}) {
      NOTE("fold ", int(by), ", ", words, " words");
      std::vector<i32> counts;
      for (int q = 0; q < P; q++) counts.push_back(q % 3 == 1 ? 0 : words + 2 * q * (words > 0));
      auto scattered = folded_thrice(engine, [&](Rank& s) { return reduce_scatter(s, counts, by); });
      auto at_root = [&](int root) { return folded_thrice(engine, [&](Rank& s) { return reduce_to(s, words, root, by); }); };
      auto at_first = at_root(0), at_last = at_root(P - 1);
      for (int r = engine.first_rank(); r < engine.first_rank() + engine.local_ranks(); r++) {
        NOTE("rank ", r);
        i32 first = std::accumulate(counts.begin(), counts.begin() + r, 0);
        check_rows(scattered[std::size_t(r)], first, counts[std::size_t(r)], by);
        check_rows(at_first[std::size_t(r)], 0, r == 0 ? words : 0, by);
        check_rows(at_last[std::size_t(r)], 0, r == P - 1 ? words : 0, by);
      }
    }
}

/// Copies of whole vectors, of which some ranks have no rows, and of parts of them, some of no rows.
inline void copies(Engine& engine) {
  auto rows_of = [](int r) { return i32(r % 3 == 1 ? 0 : 5 + 130 * r); };
  auto all = copied(engine, rows_of);
  for (int r = engine.first_rank(); r < engine.first_rank() + engine.local_ranks(); r++) {
    NOTE("rank ", r);
    i32 rows = rows_of(r);
    std::vector<double> expected;
    for (i32 i = 0; i < rows; i++) expected.push_back(value(r, i));
    for (int q = 0; q < engine.size(); q++)
      for (i32 i = 0; i < rows_of(q); i++)
        if (q != r) expected.push_back(value(q, i));
    std::vector<double> c(std::size_t(rows + 3), 0.0);
    for (i32 i = 1; i < rows - 1; i++) c[std::size_t(i + 1)] = value(r, i);
    if (rows) c[0] = value(r, rows - 2);
    expected.insert(expected.end(), c.begin(), c.end());
    REQUIRE(all[std::size_t(r)] == expected);
  }
}

}  // namespace traffic
