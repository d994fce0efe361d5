#include "sordino/solvers/method.hpp"

namespace sordino {

void Problem::keep_best(Scal rr) const {
  s.run(KeepBest{.rr = rr, .best_rr = best_rr, .x = x, .best = best});
  s.run(LowerBest{.rr = rr, .best_rr = best_rr, .lowest = best_rr});
}

}  // namespace sordino
