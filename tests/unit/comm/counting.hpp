// A program whose sums are whole numbers, so that every way of adding them gives the same bits.
#pragma once
#include <vector>

#include "check.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace counting {
using namespace sordino;

struct Count {
  InOut e;
  SORDINO_HD Sums<2> row(i32 i) {
    e[i] += 1;
    return {{e[i], 1.0}};
  }
};
struct Square {
  In e;
  SORDINO_HD Sums<1> row(i32 i) { return {{e[i] * e[i]}}; }
};
struct Keep {
  Get squares, rows;
  Put kept;
  SORDINO_HD void head() { kept = squares + rows; }
};
struct Enough {
  Get total;
  double limit;
  SORDINO_HD int test() const { return total >= limit ? met : proceed; }
  SORDINO_HD double value() const { return total; }
};
using Kernels = KernelList<Kernel<Count>, Kernel<Square>, Kernel<Keep, Enough>>;

/// Two reductions under way at once, again and again, until the `rows` of each rank have been counted `times` times.
inline void count(Engine& engine, i32 rows, int times) {
  engine.run(
      [&](Rank& rank) {
        double n = double(rows) * rank.size();
        Vec e = rank.vector("e", rank.add_space(equal_parts(rows, rank.id(), rank.size(), 32)));
        Scal total = rank.scalar("total"), all = rank.scalar("rows"), squares = rank.scalar("squares"), kept = rank.scalar("k");
        Recorded loop = rank.loop({}, [&] {
          rank.run(Count{e}, start(total, all));
          rank.run(Square{e}, start(squares));
          rank.exit_if(Enough{Get(finish(total)), n * times});
          rank.run(Keep{Get(finish(squares)), all, kept});
        });
        for (int solve = 0; solve < 3; solve++) {
          std::vector<double> nothing(std::size_t(rows), 0.0);
          rank.write(e, nothing.data());
          rank.history.clear();
          Outcome o = rank.replay(loop, times + 5);
          CHECK(o.verdict == met);
          CHECK(o.iterations == times);
          for (int k = 0; k < times; k++) CHECK(rank.history[std::size_t(k)] == n * (k + 1));
          if (times > 1) CHECK(rank.get(kept) == n * (times - 1) * (times - 1) + n);
        }
      },
      {});
}

}  // namespace counting
