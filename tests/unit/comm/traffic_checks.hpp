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

inline void sums(Engine& engine) {
  for (i32 words : {engine.size(), 50, 1000}) {
    NOTE(words, " words");
    auto all = summed(engine, words);
    for (int r = engine.first_rank(); r < engine.first_rank() + engine.local_ranks(); r++)
      for (i32 i = 0; i < words; i++) {
        double expected = 0;
        for (int q = 0; q < engine.size(); q++) expected += value(q, i);
        REQUIRE(all[std::size_t(r)][std::size_t(i)] == expected);
      }
  }
}

}  // namespace traffic
