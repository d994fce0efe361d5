// BiCGStab (000, Fig. 2(a) as corrected by 000-E1..E4), with a diagonal right preconditioner and merged dot products.
//
// Per iteration: 2 operators, 2 halos, 3 reductions of 1, 2 and 2 values, all exposed. Vector traffic beyond the operators 21 n
// words, workspace 8 n. An operator as the preconditioner is applied twice an iteration.
// Deviations: all vectors are distributed (the paper's are redundant, which is why it gathers); the stop rule is on ||b|| or
// what the user asks; a vanishing (rh,r) leaves the loop, and the driver restarts with a new shadow vector.
#pragma once
#include "sordino/runtime/columns.hpp"
#include "sordino/solvers/method.hpp"

namespace sordino::bicgstab {

/// 0 where the divisor vanished: the step is left out, and the iteration goes on with the other one.
SORDINO_HD inline double ratio(double a, double b) { return b != 0 ? a / b : 0; }
template <int C>
SORDINO_HD Several<double, C> ratio(const Several<double, C>& a, const Several<double, C>& b) {
  Several<double, C> quotient;
  for (int c = 0; c < C; c++) quotient.at[c] = ratio(a.at[c], b.at[c]);
  return quotient;
}

/// What the head of a command divides.
template <class V>
struct QuotientOf {
  GetOf<V> above, below;
};

// V: a double, or several, one of each column of a system with as many right-hand sides.

/// On GPUs rows of several columns want more registers than the 40 that a streaming update does with.
template <class V>
inline constexpr int resident = sizeof(V) <= 8    ? 6
                                : sizeof(V) <= 16 ? 4
                                                  : 2;

template <class V>
struct BeginOf {  // r = rh = p = b - A x
  static constexpr const char* name = "Begin";
  static constexpr int resident_blocks = resident<V>;
  static constexpr double flops = 4 * sizeof(V) / 8;
  InOf<V> b, Ax;
  Scaling d;
  OutOf<V> r, rh, p, ph;
  SORDINO_HD auto row(i32 i) {
    V ri = b[i] - Ax[i];
    r[i] = rh[i] = p[i] = ri;
    ph[i] = d[i] * ri;
    return summed(ri * ri, ri * ri);
  }
};

template <class V>
struct HalfStepOf {  // alpha = rho / (rh,v);  s = r - alpha v
  static constexpr const char* name = "HalfStep";
  static constexpr int resident_blocks = resident<V>;
  static constexpr double flops = 3 * sizeof(V) / 8;
  GetOf<V> rho, rv;
  InOf<V> v, r;
  Scaling d;
  OutOf<V> s, sh;
  V alpha = {};
  SORDINO_HD void head() { alpha = ratio(V(rho), V(rv)); }
  SORDINO_HD void row(i32 i) {
    V si = r[i] - alpha * v[i];
    double di = d[i];
    s[i] = si;
    sh[i] = di * si;
  }
};

template <class V>
struct StepOf {  // zeta = (t,s) / (t,t);  x += alpha p + zeta s;  r = s - zeta t
  static constexpr const char* name = "Step";
  static constexpr int resident_blocks = resident<V>;
  static constexpr double flops = 10 * sizeof(V) / 8;
  GetOf<V> rho, rv, ts, tt;
  PutOf<V> zeta;
  InOf<V> ph, sh, s, t, rh;
  InOutOf<V> x;
  OutOf<V> r;
  V alpha = {}, omega = {};
  SORDINO_HD void head() {
    alpha = ratio(V(rho), V(rv));
    omega = ratio(V(ts), V(tt));  // t = 0: s is the residual, and the half step was the last
    zeta = omega;
  }
  SORDINO_HD auto row(i32 i) {
    V xi = x[i] + (alpha * ph[i] + omega * sh[i]), ri = s[i] - omega * t[i], shadow = rh[i];  // loaded first (ADR 51)
    x[i] = xi;
    r[i] = ri;
    return summed(shadow * ri, ri * ri);
  }
};

/// p = r + beta (p - zeta v), of one row
template <class V>
SORDINO_HD V direction(const V& beta, const V& zeta, const V& r, const V& v, const V& p) {
  return r + beta * (p - zeta * v);
}

template <class V>
struct DirectionOf {  // beta = alpha / zeta * rho_new / rho, or 0 where nothing is left;  p = r + beta (p - zeta v)
  static constexpr const char* name = "Direction";
  static constexpr int resident_blocks = resident<V>;
  static constexpr double flops = 5 * sizeof(V) / 8;
  GetOf<V> rho_new, rho, rv, zeta;
  InOf<V> r, v;
  Scaling d;
  InOutOf<V> p;
  OutOf<V> ph;
  V beta = {};
  SORDINO_HD void head() { beta = ratio(ratio(V(rho), V(rv)), V(zeta)) * ratio(V(rho_new), V(rho)); }
  SORDINO_HD void row(i32 i) {
    V pi = direction<V>(beta, V(zeta), r[i], v[i], p[i]);
    double di = d[i];
    p[i] = pi;
    ph[i] = di * pi;
  }
};

using Begin = BeginOf<double>;
using HalfStep = HalfStepOf<double>;
using Step = StepOf<double>;
using Direction = DirectionOf<double>;

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
