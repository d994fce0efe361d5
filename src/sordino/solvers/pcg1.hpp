// PCG-Algorithm1 of 003 (Fig. 3), as hypre runs it: what the variants that hide reductions are compared with.
//
// Per iteration: 1 operator, 1 halo, 3 reductions of a value each, all exposed. Vector traffic beyond the operator 17 n words,
// workspace 4 n. M may be any symmetric operator (14 n then): z = M^-1 r is a line of the listing. Deviations: (b,b) is the
// driver's (the paper's bi_prod is never defined), and its result is verified.
#pragma once
#include "sordino/solvers/cg.hpp"
#include "sordino/solvers/pcg_lines.hpp"

namespace sordino::pcg1 {

struct Direction {  // beta = gamma / gamma_old;  p = z + beta p
  Get gamma, gamma_old;
  In z;
  InOut p;
  double beta = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() { beta = gamma / gamma_old; }
  SORDINO_HD void row(i32 i) { p[i] = z[i] + beta * p[i]; }
};

struct Pcg1 final : Method {
  static constexpr const char *name = "pcg1", *matrix = "spd";
  static constexpr const char* summary =
      "hypre's PCG as it is: three exposed reductions, unfused; to compare with (docs/theory)";
  static constexpr bool replicated = false, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_words;
  explicit Pcg1(const Problem& problem);
  using kernels =
      decltype(joined(pcg::Kernels{}, KernelList<Kernel<cg::Begin>, Kernel<cg::Defect>, Kernel<Direction, ConvergedSpd>>{}));
};

}  // namespace sordino::pcg1
