// For benchmarks: how long dot products of whole vectors take, by each rank for itself or shared by all.
#pragma once
#include <optional>

#include "sordino/solvers/shared_dots.hpp"

namespace sordino {

/// (t,v) and (t,t), together and one such pair after the other, recorded as a loop, as a method's are; each pair ends in a
/// command that waits for it. Two vectors of all rows on each rank.
class TimedDots {
 public:
  /// Collective, as all of it. `shared`: by all ranks as one group; else each rank repeats them.
  TimedDots(Rank& rank, i64 n, bool shared);
  TimedDots(const TimedDots&) = delete;
  /// Seconds of one pair on the engine's clock, of `pairs` (rounded up to threes) after as many to warm up.
  double seconds(Rank& rank, int pairs);

 private:
  Vec t_, v_;
  std::optional<whole_vectors::Deal> deal_;
  std::optional<whole_vectors::SharedDots> dots_;
  Recorded loop_;
};

}  // namespace sordino
