// Pipelined BiCGStab that hides its all-gathers (000, Fig. 2(b), corrected by 000-E5..E8): every rank holds whole vectors and
// does all vector operations itself, multiplies its own rows, and gathers the product while it computes what does not need it.
//
// Per iteration: 2 operators, 2 all-gathers (each hidden behind one command of vector operations), no reduction at all. Memory
// and vector traffic do not shrink with the number of ranks: right for dense operators (H-matrices), where vectors are small
// change. Where it leads no further, bicgstab goes on, on whole vectors, too.
#pragma once
#include "sordino/solvers/pipebicgstab.hpp"

namespace sordino::gatherbicgstab {
using bicgstab::ratio;

struct StepX {  // zeta = (q,y) / (y,y);  x += M^-1 (alpha p + zeta q);  r = q - zeta y:  needs no v, hides its gather
  Get alpha, qy, yy;
  Put zeta;
  In p, q, y;
  Scaling d;
  InOut x;
  Out r;
  double omega = 0;
  static constexpr double flops = 7;
  SORDINO_HD void head() {
    omega = ratio(qy, yy);
    zeta = omega;
  }
  SORDINO_HD void row(i32 i) {
    x[i] += d[i] * (alpha * p[i] + omega * q[i]);
    r[i] = q[i] - omega * y[i];
  }
};

struct StepF {  // f = y - zeta (t - alpha v)
  Get alpha, zeta;
  Whole v;
  In y, t;
  Scaling d;
  Out f, fh;
  static constexpr double flops = 5;
  SORDINO_HD void row(i32 i) {
    double fi = y[i] - zeta * (t[i] - alpha * v[i]);
    f[i] = fi;
    fh[i] = d[i] * fi;
  }
};

struct GatherBicgstab final : BeforeClassic {
  static constexpr const char *name = "gatherbicgstab", *matrix = "general";
  static constexpr const char* summary =
      "pipelined BiCGStab on replicated vectors: all-gathers hidden behind vector operations";
  static constexpr bool replicated = true, scalable = false;
  /// `at_once`: vector operations stand before products, and gathers are waited for at once; the same bits, for comparison.
  explicit GatherBicgstab(const Problem& problem, bool at_once = false);
  using kernels = KernelList<Kernel<StepX>, Kernel<StepF>>;
};

}  // namespace sordino::gatherbicgstab
