// Jacobi's method for -laplace(u) = 1 on a square, u = 0 on its rim, cut into slabs of lines: the same program for every
// engine.
#pragma once
#include <algorithm>
#include <vector>

#include "sordino/comm/traffic.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace jacobi2d {

using namespace sordino;

// v = the mean of u's neighbours, plus the load; returns the square of the change. Lines of neighbour ranks are ghosts.
struct Sweep {
  Ghost u;
  Out v;
  i32 n, rows;       // cells of a line, of this slab
  i32 below, above;  // where the ghost lines begin; -1 at the rim
  double load;
  SORDINO_HD double at(i32 row) const { return row >= 0 ? u[row] : 0; }
  SORDINO_HD Sums<1> row(i32 i) {
    i32 x = i % n;
    double west = x > 0 ? u[i - 1] : 0, east = x + 1 < n ? u[i + 1] : 0;
    double south = i >= n ? u[i - n] : at(below < 0 ? -1 : below + x);
    double north = i + n < rows ? u[i + n] : at(above < 0 ? -1 : above + x);
    double before = u[i], after = 0.25 * (west + east + south + north) + load;
    v[i] = after;
    return {(after - before) * (after - before)};
  }
};
struct SmallChange {
  Get change;
  double limit;
  SORDINO_HD int test() const { return change <= limit ? met : change == change ? proceed : blew_up; }
  SORDINO_HD double value() const { return change; }
};
using Kernels = KernelList<Kernel<Sweep>, Kernel<Nothing, SmallChange>>;

struct Result {
  Outcome outcome;
  std::vector<double> u;  // this rank's lines
};

// n x n cells. `overlap`: lines inside the slab are computed while the neighbours' lines are under way.
inline Result solve(Rank& s, i32 n, double limit, int max, bool overlap) {
  i32 first = n * s.id() / s.size(), lines = n * (s.id() + 1) / s.size() - first, rows = lines * n;
  bool below = s.id() > 0, above = s.id() + 1 < s.size();
  auto line = [&](i32 k) {
    std::vector<i32> cells;
    for (i32 x = 0; x < n; x++) cells.push_back(k * n + x);
    return cells;
  };
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  if (below) sendings.push_back({s.id() - 1, line(0)}), receivings.push_back({s.id() - 1, n});
  if (above) sendings.push_back({s.id() + 1, line(lines - 1)}), receivings.push_back({s.id() + 1, n});
  Exchange lines_of_others = point_to_point(s, rows, sendings, receivings);

  Space space;  // sums are taken line by line, in global order: the same bits on any number of ranks
  space.n_global = i64(n) * n;
  space.first_row = i64(first) * n;
  space.rows = rows;
  space.n_blocks = n;
  space.first_block = first;
  std::vector<i32> line_rows;
  for (i32 k = 0; k <= lines; k++) line_rows.push_back(k * n);
  set_tiles(space, line_rows);
  int cells = s.add_space(space);
  Vec u = s.vector("u", cells, &lines_of_others), v = s.vector("v", cells, &lines_of_others);
  Scal change = s.scalar("change");

  Split whole{{}, {{0, rows}}}, split = whole;
  if (overlap) {  // all but the outer lines first, then wait
    RowRange inside{below ? n : 0, rows - (above ? n : 0)};
    if (inside.size() > 0) split.first = {inside};
    split.rest.clear();
    if (inside.size() <= 0)
      split = whole;
    else {
      if (below) split.rest.push_back({0, n});
      if (above) split.rest.push_back({rows - n, rows});
    }
  }
  Sweep sweep{u, v, n, rows, below ? rows : -1, above ? rows + (below ? n : 0) : -1, 0.25 / double((n + 1) * (n + 1))};

  Recorded begin = s.record([&] { s.run(Nothing{}, push(u)); });  // vectors begin with zeros
  Recorded loop = s.loop({.vectors = {{v, u}}}, [&] {
    s.run_split(sweep, split, push(v), start(change));
    s.exit_if(SmallChange{finish(change), limit});
  });
  s.replay(begin);
  Result result{s.replay(loop, max), std::vector<double>(std::size_t(rows))};
  // An exit leaves the names as the last body saw them: v holds what was computed last.
  if (s.engine().arithmetic()) s.read(result.outcome.exited() ? v : u, result.u.data());
  return result;
}

}  // namespace jacobi2d
