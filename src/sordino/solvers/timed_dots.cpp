#include "sordino/solvers/timed_dots.hpp"

#include "sordino/linalg/partition.hpp"

namespace sordino {
namespace {

constexpr int at_once = 3;  // pairs of a round, which is what a round of shared ones may have

}  // namespace

TimedDots::TimedDots(Rank& rank, i64 n, bool shared) {
  const int space = rank.add_space(replicated_space(even_partition(n, rank.size())));
  t_ = rank.vector("t", space);
  v_ = rank.vector("v", space);
  if (shared) dots_.emplace(rank, deal_.emplace(rank.space(space), rank.size()));
  const Scal tv = rank.scalar("(t,v)"), tt = rank.scalar("(t,t)");
  loop_ = rank.loop({}, [&] {
    for (int which = 0; which < at_once; which++) {
      if (dots_)
        dots_->record(rank, which, t_, v_, tv, tt);
      else
        rank.dots(dot(t_, v_) >> tv, dot(t_, t_) >> tt);
      rank.wait(tv);
    }
  });
  const std::vector<double> ones(std::size_t(n), 1.0);
  for (Vec x : {t_, v_}) rank.write(x, ones.data());
}

double TimedDots::seconds(Rank& rank, int pairs) {
  const int rounds = (pairs + at_once - 1) / at_once;
  auto run = [&] {
    rank.engine().barrier(rank);
    const double begin = rank.engine().now(rank);
    rank.replay(loop_, rounds);
    return (rank.engine().now(rank) - begin) / (at_once * rounds);
  };
  run();  // warms up: graphs, caches, clocks
  return run();
}

}  // namespace sordino
