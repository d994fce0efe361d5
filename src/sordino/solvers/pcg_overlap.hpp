// PCG-Overlap of 003 (Fig. 7): PCG-Algorithm2 with each reduction behind a line that does not need it, (t,t) behind w = L^-T t
// of the next iteration, (s,p) behind the update of x, and (r,r) behind t = L^-1 r.
//
// Per iteration: 1 operator, 1 halo, 3 reductions of a value each, all hidden as far as those lines take as long. Vector
// traffic beyond the operator 19 n words, workspace 7 n. Deviations: as PCG-Algorithm2.
//
// An operator as M has no halves to hide a sum behind: (r,r) hides behind w = M^-1 r and (s,p) behind the update of x, but
// (r,w) is of w, and the next direction needs it at once. Who hides that one carries s = A p and M^-1 s by recurrences, which
// is gropp.
#pragma once
#include "sordino/solvers/pcg2.hpp"

namespace sordino::pcg_overlap {

struct PcgOverlap final : Method {
  static constexpr const char *name = "pcg-overlap", *matrix = "spd";
  static constexpr const char* summary =
      "hypre's PCG with hidden all-reduces: three, each behind an update of a vector (docs/theory)";
  static constexpr bool replicated = false, takes_roots = true, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_words;
  explicit PcgOverlap(const Problem& problem) { pcg2::record(*this, problem, pcg2::Waits::where_it_needs); }
  using kernels = pcg2::Kernels;
};

}  // namespace sordino::pcg_overlap
