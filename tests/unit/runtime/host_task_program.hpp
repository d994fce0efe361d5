// A loop whose every iteration has a kernel, a host task that reads ghosts and a reduction, and a kernel again. All numbers are
// dyadic and short, so every engine computes them exactly, in any order.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace host_tasks {

using namespace sordino;

struct Grow {
  InOut g;
  SORDINO_HD Sums<1> row(i32 i) {
    double v = 0.5 * g[i] + 1;
    g[i] = v;
    return {v};
  }
};
struct Mix {
  Get half;  // what the host task put
  In h;
  InOut g;
  SORDINO_HD Sums<1> row(i32 i) {
    double v = g[i] + 0.25 * h[i] + half;
    g[i] = v;
    return {v};
  }
};
struct Enough {
  Get total;
  double limit;
  SORDINO_HD int test() const { return total >= limit ? met : proceed; }
  SORDINO_HD double value() const { return total; }
};
using Kernels = KernelList<Kernel<Grow>, Kernel<Mix>, Kernel<Nothing, Enough>>;

struct Result {
  std::vector<double> g, history;
  int iterations = 0;
  bool operator==(const Result&) const = default;
};

/// Every rank sends its first and its last row to its neighbours in a chain: the ghost of the left one comes first.
inline Exchange ends_of(const Rank& s, i32 rows) {
  bool left = s.id() > 0, right = s.id() + 1 < s.size();
  Exchange ends;
  if (left) ends.peers.push_back({s.id() - 1, rows, 1, 1, {}, 0, rows + (s.id() - 1 > 0), s.id() - 1 > 0});
  if (right) ends.peers.push_back({s.id() + 1, rows + left, 1, 1, {}, rows - 1, rows, 0});
  ends.ghosts = left + right;
  return ends;
}

/// Replays the loop for at most so many iterations.
using Replays = std::function<Outcome(Rank&, Recorded&, int max)>;
inline Outcome blocking(Rank& s, Recorded& loop, int max) { return s.replay(loop, max); }

/// Rows 0 to n of a chain; each rank has `rows` of them.
inline void job(Rank& s, i32 rows, double limit, int max, Result& all, const Replays& replay) {
  bool left = s.id() > 0, right = s.id() + 1 < s.size();
  int space = s.add_space(equal_parts(rows, s.id(), s.size()));
  Exchange ends = ends_of(s, rows);
  Vec g = s.vector("g", space, &ends), h = s.vector("h", space);
  Scal sum = s.scalar("sum"), half = s.scalar("half"), total = s.scalar("total");
  auto smooth = [=](const HostView& host) {
    const double* from = host.words(g);
    double* to = host.words(h);
    for (i32 i = 0; i < rows; i++) {
      double before = i > 0  ? from[i - 1]
                      : left ? from[rows]
                             : 0,
             after = i + 1 < rows ? from[i + 1]
                     : right      ? from[rows + left]
                                  : 0;
      to[i] = from[i] + before + after;
    }
    host.put(half, host.get(sum) / 64);
  };
  auto loop = s.loop({}, [&] {
    s.run(Grow{g}, start(sum), push(g));
    s.host({.name = "smooth",
            .uses = {{g, Access::ghost}, {h, Access::write}},
            .gets = {finish(sum)},
            .puts = {half},
            .run = smooth,
            .seconds = 1e-5});
    s.run(Mix{half, h, g}, start(total));
    s.exit_if(Enough{finish(total), limit});
  });
  std::vector<double> mine(static_cast<std::size_t>(rows));
  for (i32 i = 0; i < rows; i++) mine[std::size_t(i)] = double((rows * s.id() + i) % 7);
  s.write(g, mine.data());
  Outcome out = replay(s, loop, max);
  s.read(g, mine.data());
  std::copy(mine.begin(), mine.end(), all.g.begin() + rows * s.id());
  if (s.id() == 0) all.iterations = out.iterations, all.history = s.history;
}

inline Result run(Engine& engine, i32 n, double limit, int max, const Replays& replay = blocking) {
  Result all{std::vector<double>(static_cast<std::size_t>(n)), {}, 0};
  engine.run([&](Rank& s) { job(s, n / s.size(), limit, max, all, replay); });
  return all;
}

}  // namespace host_tasks
