// BiCGStab (000, Fig. 2(a) as corrected by 000-E1..E4), with a diagonal right preconditioner and merged dot products.
//
// Per iteration: 2 operators, 2 halos, 3 reductions of 1, 2 and 2 values, all exposed. Vector traffic beyond the operators 21 n
// words, workspace 8 n. An operator as the preconditioner is applied twice an iteration.
// Deviations: all vectors are distributed (the paper's are redundant, which is why it gathers); the stop rule is on ||b|| or
// what the user asks; a vanishing (rh,r) leaves the loop, and the driver restarts with a new shadow vector.
#pragma once
#include "sordino/solvers/method.hpp"

namespace sordino::bicgstab {

/// 0 where the divisor vanished: the step is left out, and the iteration goes on with the other one.
SORDINO_HD inline double ratio(double a, double b) { return b != 0 ? a / b : 0; }

struct Begin {  // r = rh = p = b - A x
  In b, Ax;
  Scaling d;
  Out r, rh, p, ph;
  static constexpr double flops = 4;
  SORDINO_HD Sums<2> row(i32 i) {
    double ri = b[i] - Ax[i];
    r[i] = rh[i] = p[i] = ri;
    ph[i] = d[i] * ri;
    return {ri * ri, ri * ri};
  }
};

struct HalfStep {  // alpha = rho / (rh,v);  s = r - alpha v
  Get rho, rv;
  In v, r;
  Scaling d;
  Out s, sh;
  double alpha = 0;
  static constexpr double flops = 3;
  SORDINO_HD void head() { alpha = ratio(rho, rv); }
  SORDINO_HD void row(i32 i) {
    double si = r[i] - alpha * v[i], di = d[i];
    s[i] = si;
    sh[i] = di * si;
  }
};

struct Step {  // zeta = (t,s) / (t,t);  x += alpha p + zeta s;  r = s - zeta t
  Get rho, rv, ts, tt;
  Put zeta;
  In ph, sh, s, t, rh;
  InOut x;
  Out r;
  double alpha = 0, omega = 0;
  static constexpr double flops = 10;
  SORDINO_HD void head() {
    alpha = ratio(rho, rv);
    omega = ratio(ts, tt);  // t = 0: s is the residual, and the half step was the last
    zeta = omega;
  }
  SORDINO_HD Sums<2> row(i32 i) {
    double xi = x[i] + (alpha * ph[i] + omega * sh[i]), ri = s[i] - omega * t[i], shadow = rh[i];  // loaded first (ADR 51)
    x[i] = xi;
    r[i] = ri;
    return {shadow * ri, ri * ri};
  }
};

/// p = r + beta (p - zeta v), of one row
SORDINO_HD inline double direction(double beta, double zeta, double r, double v, double p) { return r + beta * (p - zeta * v); }

struct Direction {  // beta = alpha / zeta * rho_new / rho, or 0 where nothing is left;  p = r + beta (p - zeta v)
  Get rho_new, rho, rv, zeta;
  In r, v;
  Scaling d;
  InOut p;
  Out ph;
  double beta = 0;
  static constexpr double flops = 5;
  SORDINO_HD void head() { beta = ratio(ratio(rho, rv), zeta) * ratio(rho_new, rho); }
  SORDINO_HD void row(i32 i) {
    double pi = direction(beta, zeta, r[i], v[i], p[i]), di = d[i];
    p[i] = pi;
    ph[i] = di * pi;
  }
};

struct Gathered {  // only waits, where v is replicated
  Whole v;
};

/// What it computes in, besides A x; of a method's, where it stands behind one.
struct Vectors {
  Vec r, rh, p, s;
  Vec ph, sh;    // that A is applied to
  Vec v, v_old;  // that A is applied into; two buffers where others write into them while the last one is read, else one
};

struct Bicgstab final : Method {
  static constexpr const char *name = "bicgstab", *matrix = "general";
  static constexpr const char* summary = "BiCGStab: three exposed reductions";
  static constexpr bool replicated = false, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_numbers;  // complex_bicgstab.hpp
  explicit Bicgstab(const Problem& problem);
  Bicgstab(const Problem& problem, const Vectors& vectors);
  using kernels = KernelList<Kernel<Begin>, Kernel<HalfStep>, Kernel<Step>, Kernel<Direction, ConvergedBi>, Kernel<Gathered>>;
};

}  // namespace sordino::bicgstab
