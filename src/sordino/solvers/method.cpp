#include "sordino/solvers/method.hpp"

namespace sordino {

// A method whose test stands first has already begun the next (r,r): the last one belongs to the x before, which is near enough
// for a choice that the driver verifies.
void Problem::keep_best(Scal rr) const {
  s.run(KeepBest{.rr = last(rr), .best_rr = best_rr, .x = x, .best = best});
  s.run(LowerBest{.rr = last(rr), .best_rr = best_rr, .lowest = best_rr});
}

}  // namespace sordino
