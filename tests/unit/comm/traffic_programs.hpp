// Programs over every pattern of messages, for all engines. All numbers are whole.
#pragma once
#include <functional>
#include <numeric>
#include <vector>

#include "sordino/comm/barrier.hpp"
#include "sordino/comm/traffic.hpp"
#include "sordino/comm/vector_sum.hpp"

namespace traffic {

using namespace sordino;

struct Fill {  // x[i] = 1000 rank + i + 100000 round
  Out x;
  Get round;
  double rank;
  SORDINO_HD void row(i32 i) { x[i] = 1000 * rank + i + 100000 * round; }
};
struct CopyAll {  // own rows and ghosts, one after the other
  Foreign<const double, Access::ghost> x;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = x[i]; }
  Cost cost() const { return {}; }
};
struct CopyWhole {
  Whole x;
  Foreign<double, Access::write> y;
  SORDINO_HD void row(i32 i) { y[i] = x[i]; }
};
struct CountRound {
  InOut y;
  Get last;
  Put next;
  SORDINO_HD void head() { next = last + 1; }
  SORDINO_HD Sums<1> row(i32) { return {1}; }
};
SORDINO_HD inline double small(int rank, i32 row, int round) { return (rank * 7 + row * 5 + round * 3) % 11 - 5; }
struct FillSmall {
  Out x;
  Get round;
  int rank;
  SORDINO_HD void row(i32 i) { x[i] = small(rank, i, int(round)); }
};
struct NextRound {  // if all have arrived
  Get last, arrived;
  Put next;
  double ranks;
  SORDINO_HD void head() { next = arrived == ranks ? last + 1 : -1000; }
};
using Kernels = KernelList<Kernel<Fill>, Kernel<CopyAll>, Kernel<CopyWhole>, Kernel<CountRound>, Kernel<FillSmall>,
                           Kernel<NextRound>, Kernel<FoldSegments>, Kernel<Arrive>>;

inline int local_space(Rank& s, i32 rows) { return s.add_space(equal_parts(rows, s.id(), s.size())); }

/// Three rounds of: fill, push, and copy what has arrived. Returns own rows and ghosts of the last round, for each rank.
using Build = std::function<Exchange(Rank&)>;
using Rows = std::function<i32(int rank)>;
inline std::vector<std::vector<double>> after_three_rounds(Engine& engine, const Rows& own_rows, const Build& build) {
  std::vector<std::vector<double>> all(static_cast<std::size_t>(engine.size()));
  engine.run(
      [&](Rank& s) {
        i32 rows = own_rows(s.id());
        Exchange x = build(s);
        int from = local_space(s, rows), to = local_space(s, rows + x.ghosts);
        Vec v = s.vector("v", from, &x), w = s.vector("w", to);
        Scal round = s.scalar("round", 0), next = s.scalar("next"), counted = s.scalar("counted");
        auto loop = s.loop({.scalars = {{next, round}}}, [&] {
          s.run(Fill{v, round, double(s.id())}, push(v));
          s.run(CopyAll{v, w});
          s.run(CountRound{w, round, next}, start(counted));  // all have read: the next push may come
          s.wait(counted);
        });
        s.replay(loop, 3);
        auto& mine = all[std::size_t(s.id())];
        mine.resize(std::size_t(rows + x.ghosts));
        s.read(w, mine.data());
      },
      {});
  return all;
}

/// Vectors of `words` words, folded over ranks, in the third round; as each rank sees them.
inline std::vector<std::vector<double>> summed(Engine& engine, i32 words, Fold by) {
  std::vector<std::vector<double>> all(static_cast<std::size_t>(engine.size()));
  engine.run(
      [&](Rank& s) {
        VectorSum sum(s, words, "sum", by);
        int mine = local_space(s, words);
        Vec w = s.vector("w", mine);
        Scal round = s.scalar("round", 0), next = s.scalar("next"), counted = s.scalar("counted");
        auto loop = s.loop({.scalars = {{next, round}}}, [&] {
          s.run(Fill{sum.operand(), round, double(s.id())}, push(sum.operand()));
          sum.add(s);
          s.run_over(sum.result_space(), CopyWhole{sum.result(), w});
          s.run(CountRound{w, round, next}, start(counted));
          s.wait(counted);
        });
        s.replay(loop, 3);
        auto& rows = all[std::size_t(s.id())];
        rows.resize(std::size_t(words));
        s.read(w, rows.data());
      },
      {});
  return all;
}

/// The result of a fold of small numbers in the third round (counted from 0), for each rank; barriers part the rounds.
template <class Build>
std::vector<std::vector<double>> folded_thrice(Engine& engine, const Build& build) {
  std::vector<std::vector<double>> all(static_cast<std::size_t>(engine.size()));
  engine.run(
      [&](Rank& s) {
        const VectorFold f = build(s);
        const Barrier barrier(s);
        Vec kept = s.vector("kept", f.result_space());
        Scal round = s.scalar("round", 0), next = s.scalar("next");
        auto loop = s.loop({.scalars = {{next, round}}}, [&] {
          s.run(FillSmall{f.operand(), round, s.id()}, push(f.operand()));
          f.fold(s);
          s.copy(f.result(), kept);
          barrier.arrive(s);
          s.run(NextRound{round, finish(barrier.arrived()), next, double(s.size())});
        });
        s.replay(loop, 3);
        auto& mine = all[std::size_t(s.id())];
        mine.resize(std::size_t(s.space(f.result_space()).rows));
        s.read(kept, mine.data());
      },
      {});
  return all;
}

/// Three rounds of copies: all rows of `a` into a message to everybody, and some of them, `count` from row 1, into rows 2 and
/// on of a longer vector `c`, of which the last moves to row 0. Returns what came, and c.
inline std::vector<std::vector<double>> copied(Engine& engine, const Rows& own_rows) {
  std::vector<std::vector<double>> all(static_cast<std::size_t>(engine.size()));
  engine.run(
      [&](Rank& s) {
        i32 rows = own_rows(s.id()), count = std::max(rows - 2, 0);
        Exchange x = all_gather_exchange(s, rows);
        int from = local_space(s, rows), to = local_space(s, rows + x.ghosts), longer = local_space(s, rows + 3);
        Vec a = s.vector("a", from), v = s.vector("v", from, &x), w = s.vector("w", to), c = s.vector("c", longer);
        const Barrier barrier(s);
        Scal round = s.scalar("round", 0), next = s.scalar("next");
        auto loop = s.loop({.scalars = {{next, round}}}, [&] {
          s.run(Fill{a, round, double(s.id())});
          s.copy(a, v, push(v));
          s.copy({a, rows ? 1 : 0, count}, c, 2);
          s.copy({c, count + 1, 1}, c, 0);
          s.run(CopyAll{v, w});
          barrier.arrive(s);
          s.run(NextRound{round, finish(barrier.arrived()), next, double(s.size())});
        });
        s.replay(loop, 3);
        auto& mine = all[std::size_t(s.id())];
        mine.resize(std::size_t(2 * rows + x.ghosts + 3));
        s.read(w, mine.data());
        s.read(c, mine.data() + rows + x.ghosts);
      },
      {});
  return all;
}

}  // namespace traffic
