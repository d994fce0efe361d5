// n x n cells, numbered line by line and cut into slabs of lines, one a rank. Shared by the examples.
#pragma once
#include <vector>

#include "sordino/comm/traffic.hpp"

namespace slabs {

using namespace sordino;

struct Slab {
  i32 n = 0, rows = 0;         // cells of a line, of this rank
  i32 below = -1, above = -1;  // where the neighbours' lines lie behind the own rows; -1 at the rim
  Exchange lines = {};         // my outer lines go to the neighbours, and theirs come to me
  Split split = {};            // first: cells that need no others; rest: the outer lines
  int space = -1;
};

inline std::vector<i32> line(i32 n, i32 k) {
  std::vector<i32> cells;
  for (i32 x = 0; x < n; x++) cells.push_back(k * n + x);
  return cells;
}

inline Slab cut(Rank& rank, i32 n) {
  i32 first = n * rank.id() / rank.size(), lines = n * (rank.id() + 1) / rank.size() - first;
  bool below = rank.id() > 0, above = rank.id() + 1 < rank.size();
  Slab s{.n = n, .rows = lines * n};
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  if (below) {
    sendings.push_back({rank.id() - 1, line(n, 0)});
    receivings.push_back({rank.id() - 1, n});
    s.below = s.rows;
    s.split.rest.push_back({0, n});
  }
  if (above) {
    sendings.push_back({rank.id() + 1, line(n, lines - 1)});
    receivings.push_back({rank.id() + 1, n});
    s.above = s.rows + (below ? n : 0);
    s.split.rest.push_back({s.rows - n, s.rows});
  }
  s.split.first = {{below ? n : 0, s.rows - (above ? n : 0)}};
  s.lines = point_to_point(rank, s.rows, sendings, receivings);

  Space space;  // sums are taken line by line, in global order: the same bits on any number of ranks
  space.n_global = i64(n) * n;
  space.first_row = i64(first) * n;
  space.rows = s.rows;
  space.n_blocks = n;
  space.first_block = first;
  std::vector<i32> line_rows;
  for (i32 k = 0; k <= lines; k++) line_rows.push_back(k * n);
  set_tiles(space, line_rows);
  s.space = rank.add_space(space);
  return s;
}

}  // namespace slabs
