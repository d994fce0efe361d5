// Jacobi's method for -laplace(u) = 1 on a square, u = 0 on its rim, cut into slabs of lines: the same program for every
// engine.
#pragma once
#include <algorithm>
#include <vector>

#include "slab.hpp"
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
  slabs::Slab slab = slabs::cut(s, n);
  Vec u = s.vector("u", slab.space, &slab.lines), v = s.vector("v", slab.space, &slab.lines);
  Scal change = s.scalar("change");
  Split split = overlap ? slab.split : Split{{}, {{0, slab.rows}}};
  Sweep sweep{u, v, n, slab.rows, slab.below, slab.above, 0.25 / double((n + 1) * (n + 1))};

  Recorded begin = s.record([&] { s.run(Nothing{}, push(u)); });  // vectors begin with zeros
  Recorded loop = s.loop({.vectors = {{v, u}}}, [&] {
    s.run_split(sweep, split, push(v), start(change));
    s.exit_if(SmallChange{finish(change), limit});
  });
  s.replay(begin);
  Result result{s.replay(loop, max), std::vector<double>(std::size_t(slab.rows))};
  // An exit leaves the names as the last body saw them: v holds what was computed last.
  if (s.engine().arithmetic()) s.read(result.outcome.exited() ? v : u, result.u.data());
  return result;
}

}  // namespace jacobi2d
