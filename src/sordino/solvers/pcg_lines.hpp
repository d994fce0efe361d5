// The lines of 003's listings (Figs 3, 6 and 7), a command each, as hypre's PCG runs them: nothing is fused, so that what one
// variant hides and another one does not is the schedule, and nothing else.
#pragma once
#include <cmath>

#include "sordino/solvers/method.hpp"

namespace sordino::pcg {

struct Advance {  // x += alpha p
  Get alpha;
  In p;
  InOut x;
  static constexpr double flops = 2;
  SORDINO_HD void row(i32 i) { x[i] += alpha * p[i]; }
};

struct Residual {  // alpha = gamma / (s,p);  r -= alpha s;  gamma_old = gamma
  Get gamma, sp;
  Put alpha, gamma_old;
  In s;
  InOut r;
  double a = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() {
    a = sp != 0 ? gamma / sp : 0;  // as cg::ResidualAlone
    alpha = a;
    gamma_old = gamma;
  }
  SORDINO_HD void row(i32 i) { r[i] -= a * s[i]; }
};

struct NoStep {  // alpha = 0: x has been brought up to date, and the next iteration has nothing to add
  Put alpha;
  SORDINO_HD void head() { alpha = 0; }
};

using Kernels = KernelList<Kernel<Advance>, Kernel<Residual>, Kernel<NoStep>, Kernel<Scaled>>;

}  // namespace sordino::pcg
