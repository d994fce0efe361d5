// Flexible preconditioned conjugate gradients (Golub & Ye, SIAM J. Sci. Comput. 21(4), 1999; Notay, SIAM J. Sci. Comput. 22(4),
// 2000, FCG(1)): M may be another operator in each application, and need not be symmetric. beta is Polak and Ribiere's,
// (r_new - r, z_new) / (r, z), so that p is conjugate to the last one whatever M was. Since r_new - r = -alpha w it is
// -(w, z_new) / (w, p), which needs no former r.
//
// Per iteration: 1 operator, 1 halo, 2 reductions of 1 and 3 values, both exposed: (w,p) is needed at once, and (r,r) and (w,z)
// travel with (r,z), behind M. Vector traffic beyond the operator 10 n words, as cg's, workspace 4 n: z is kept, where M is a
// diagonal, too. With an operator as the preconditioner a sum of M's reads w once more. x lags by one step inside the loop;
// `end` catches up. Where M is the same symmetric operator each time it does what cg does, but for rounding.
// (r,z) = 0 of an r that is not is a breakdown, from which the driver restarts.
#pragma once
#include "sordino/solvers/cg.hpp"

namespace sordino::fcg {

struct Residual {  // alpha = (r,z) / (w,p);  r -= alpha w;  z = M^-1 r
  Get rz, wp;
  In w;
  Scaling d;
  InOut r;
  Out z;
  LastUse last_use = {};  // of w
  double alpha = 0;
  static constexpr double flops = 9;
  template <class V>
  void last_uses(V&& visit) const {
    if (last_use.makes_room) visit(w);
  }
  SORDINO_HD void head() { alpha = rz / wp; }
  SORDINO_HD Sums<3> row(i32 i) {
    double wi = last_use.load(w[i]), ri = r[i] - alpha * wi, zi = d[i] * ri;
    r[i] = ri;
    z[i] = zi;
    return {ri * zi, ri * ri, wi * zi};
  }
};

struct Direction {  // x += alpha p;  beta = -(w,z) / (w,p);  p = z + beta p
  Get rz_old, wp, wz;
  In z;
  InOut x, p;
  LastUse last_use = {};  // of z and x
  double alpha = 0, beta = 0;
  static constexpr double flops = 4;
  template <class V>
  void last_uses(V&& visit) const {
    if (!last_use.makes_room) return;
    visit(z);
    visit(x);
  }
  SORDINO_HD void head() {
    alpha = rz_old / wp;
    beta = -wz / wp;
  }
  SORDINO_HD void row(i32 i) {
    double pi = p[i], xi = last_use.load(x[i]), zi = last_use.load(z[i]);
    last_use.store(x[i], xi + alpha * pi);
    p[i] = zi + beta * pi;
  }
};

/// As ConvergedSpd; where r meets none of z, no step along it is left.
struct ConvergedFlexible {
  Get rr, rz, curvature, target, bound;
  SORDINO_HD int test() const {
    if (!(rr <= bound) || curvature != curvature) return blew_up;
    if (rr <= target) return met;
    if (curvature <= 0) return not_definite;
    return rz == 0 ? broke_down : proceed;
  }
  SORDINO_HD double value() const { return rr; }
};

struct Fcg final : Method {
  static constexpr const char *name = "fcg", *matrix = "spd";
  static constexpr const char* summary =
      "flexible CG, for preconditioners that change or are not symmetric: two exposed reductions";
  static constexpr bool replicated = false, any_preconditioner = true, flexible = true;
  static constexpr Factors complex = Factors::of_words;
  explicit Fcg(const Problem& problem);
  using kernels = KernelList<Kernel<cg::Begin>, Kernel<Residual>, Kernel<Direction, ConvergedFlexible>, Kernel<cg::LastStep>,
                             Kernel<cg::Defect>, Kernel<cg::ResidualAlone>>;
};

}  // namespace sordino::fcg
