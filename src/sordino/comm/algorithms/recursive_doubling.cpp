#include "sordino/comm/algorithms/algorithms.hpp"

namespace sordino::schedules {
namespace {

int power_of_two_up_to(int n) {
  int p = 1;
  while (2 * p <= n) p *= 2;
  return p;
}

}  // namespace

// Of the first 2 `extra` ranks, even ones hand their values to the odd one behind them and get the result from it. The others
// are renumbered without gaps and in order, so that partners hold neighbouring ranges of ranks: the lower range is folded
// first, and both partners compute the same bits.
Schedule all_reduce_by_doubling(Operation& op) {
  int me = op.rank(), core = power_of_two_up_to(op.size()), extra = op.size() - core;
  bool joined = me < 2 * extra;
  if (joined && me % 2 == 0) {
    op.send(me + 1, op.values);
    op.values = co_await op.receive(me + 1);
    co_return;
  }
  if (joined) {
    Bytes lower = co_await op.receive(me - 1);
    op.fold(lower, op.values);
    op.values = std::move(lower);
  }
  int place = joined ? me / 2 : me - extra;
  auto rank_at = [extra](int p) { return p < extra ? 2 * p + 1 : p + extra; };
  for (int distance = 1; distance < core; distance *= 2) {
    int partner = place ^ distance;
    op.send(rank_at(partner), op.values);
    Bytes theirs = co_await op.receive(rank_at(partner));
    if (partner < place) std::swap(op.values, theirs);
    op.fold(op.values, theirs);
  }
  if (joined) op.send(me - 1, op.values);
}

}  // namespace sordino::schedules
