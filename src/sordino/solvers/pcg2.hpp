// PCG-Algorithm2 of 003 (Fig. 6), for a preconditioner C = L L' that is applied in halves; here L = sqrt(diag A) (003-E7).
//
// Per iteration: 1 operator, 1 halo, 3 reductions of a value each, all exposed. Vector traffic beyond the operator 19 n words,
// workspace 7 n. x lags by one step inside the loop; `end` catches up (003-E3). alpha = 0 and gamma_old = infinity before the
// loop (003-E1, E5), p and p_prev trade places behind it (003-E2). Deviation: (b,b) is the driver's.
//
// An operator as M comes in one piece: w = M^-1 r, and (r,w) is what (t,t) was, for t = L^-1 r has |t|^2 = r' M^-1 r. Then
// neither L nor t is kept: vector traffic beyond the operator 14 n words, workspace 5 n. M is applied to the last r, too.
#pragma once
#include "sordino/solvers/pcg_lines.hpp"

namespace sordino::pcg2 {

struct Begin {  // r = b - A x;  p_prev = 0;  alpha = 0;  gamma_old = infinity;  for a diagonal l = L^-1 and t = L^-1 r, too
  Put alpha, gamma_old;
  In b, Ax;
  Scaling d;
  Out l, r, t, p_prev;
  static constexpr double flops = 3;
  SORDINO_HD void head() {
    alpha = 0;
    gamma_old = HUGE_VAL;
  }
  SORDINO_HD void row(i32 i) {
    double li = std::sqrt(d[i]), ri = b[i] - Ax[i];
    if (l.p) l[i] = li;
    r[i] = ri;
    if (t.p) t[i] = li * ri;
    p_prev[i] = 0;
  }
};

struct Direction {  // beta = gamma / gamma_old;  p = w + beta p_prev
  Get gamma, gamma_old;
  In w, p_prev;
  Out p;
  double beta = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() { beta = gamma / gamma_old; }
  SORDINO_HD void row(i32 i) { p[i] = w[i] + beta * p_prev[i]; }
};

enum class Waits { where_it_starts, where_it_needs };

/// Both listings: they differ in where a reduction is waited for.
void record(Method& method, const Problem& problem, Waits waits);

using Kernels = decltype(joined(pcg::Kernels{}, KernelList<Kernel<Begin>, Kernel<Direction>, Kernel<Dots<1>, ConvergedSpd>>{}));

struct Pcg2 final : Method {
  static constexpr const char *name = "pcg2", *matrix = "spd";
  static constexpr const char* summary =
      "hypre's PCG with M in two halves: three exposed reductions; to compare with pcg-overlap (docs/theory)";
  static constexpr bool replicated = false, takes_roots = true, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_words;
  explicit Pcg2(const Problem& problem) { record(*this, problem, Waits::where_it_starts); }
  using kernels = Kernels;
};

}  // namespace sordino::pcg2
