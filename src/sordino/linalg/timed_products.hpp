// For benchmarks: how long a product takes, halo and all.
#pragma once
#include "sordino/linalg/operator.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Pairs of products x -> y -> x, recorded as a loop, as a method's are. Adds an operand of A's to what the rank holds.
class TimedProducts {
 public:
  /// x: an operand of A's, whose space has as many rows as columns. Not for replicated vectors. Collective, as all of it.
  TimedProducts(Rank& rank, const Operator& A, Vec x);
  /// Seconds of one product on the engine's clock, replayed `2 * pairs` times after as many to warm up. from [rows] is what to
  /// start from; x is overwritten.
  double seconds(Rank& rank, int pairs, const double* from);

 private:
  Vec x_;
  Recorded first_push_, products_;
};

}  // namespace sordino
