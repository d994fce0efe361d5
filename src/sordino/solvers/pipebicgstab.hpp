// Pipelined BiCGStab that hides its all-reduces (Cools & Vanroose 2017; recurrences as in 000, Fig. 2(b), corrected by
// 000-E5..E8), for the right-preconditioned operator B = A M^-1 with a diagonal M.
//
// Per iteration: 2 operators, 2 halos, 2 reductions of 2 and 5 values, each hidden behind one operator. Vector traffic beyond
// the operators 28 n words, workspace 13 n. The recurrences for f = B r, g = B p, z = B g, t = B f, v = B z drift: every
// `replace_every` iterations they are computed anew (`replace`). Where it leads no further, bicgstab goes on.
#pragma once
#include <cmath>

#include "sordino/solvers/before_classic.hpp"
#include "sordino/solvers/bicgstab.hpp"

namespace sordino::pipebicgstab {
using bicgstab::ratio;

struct Begin {  // r = rh = b - A x
  In b, Ax;
  Scaling d;
  Out r, rh, zh;
  static constexpr double flops = 4;
  SORDINO_HD Sums<1> row(i32 i) {
    double ri = b[i] - Ax[i];
    r[i] = rh[i] = ri;
    zh[i] = d[i] * ri;
    return {ri * ri};
  }
};

struct First {  // p = g = z = v = 0;  M^-1 f.   beta = 0 in the first iteration because rho_old is infinite
  Put rho_old, alpha, zeta;
  Whole f;
  In r, rh;
  Scaling d;
  Out fh, p, g, z, v;
  static constexpr double flops = 7;
  SORDINO_HD void head() {
    rho_old = HUGE_VAL;
    alpha = 1;
    zeta = 1;
  }
  SORDINO_HD Sums<5> row(i32 i) {
    p[i] = g[i] = z[i] = v[i] = 0;
    fh[i] = d[i] * f[i];
    return {rh[i] * r[i], rh[i] * f[i], 0, 0, r[i] * r[i]};
  }
};

struct HalfStep {  // p, g, z by their recurrences;  q = r - alpha g;  y = f - alpha z
  Get rho, rho_old, rf, rg, rz, alpha_old, zeta;
  Put alpha;
  Whole t;
  In v, r, f;
  Scaling d;
  InOut p, g, z;
  Out q, y, zh;
  double a = 0, beta = 0;
  static constexpr double flops = 21;
  static constexpr int resident_blocks = 4;  // nine loads are in flight
  SORDINO_HD void head() {
    beta = ratio(alpha_old, zeta) * (rho / rho_old);
    a = ratio(rho, rf + beta * (rg - zeta * rz));
    alpha = a;
  }
  SORDINO_HD Sums<2> row(i32 i) {
    double gi = g[i], zi = z[i], ri = r[i], fi = f[i], di = d[i], pi = ri + beta * (p[i] - zeta * gi);
    gi = fi + beta * (gi - zeta * zi);
    zi = t[i] + beta * (zi - zeta * v[i]);
    double qi = ri - a * gi, yi = fi - a * zi;
    p[i] = pi;
    g[i] = gi;
    z[i] = zi;
    zh[i] = di * zi;
    q[i] = qi;
    y[i] = yi;
    return {qi * yi, yi * yi};
  }
};

struct Step {  // zeta = (q,y) / (y,y);  x += M^-1 (alpha p + zeta q);  r = q - zeta y;  f = y - zeta (t - alpha v)
  Get alpha, qy, yy;
  Put zeta;
  In p, q, y, t, v, rh, g, z;
  Scaling d;
  InOut x;
  Out r, f, fh;
  double omega = 0;
  static constexpr double flops = 22;
  static constexpr int resident_blocks = 4;  // ten loads are in flight
  SORDINO_HD void head() {
    omega = ratio(qy, yy);
    zeta = omega;
  }
  SORDINO_HD Sums<5> row(i32 i) {
    double di = d[i], qi = q[i], yi = y[i], h = rh[i], gi = g[i], zi = z[i];
    double xi = x[i] + di * (alpha * p[i] + omega * qi), ri = qi - omega * yi, fi = yi - omega * (t[i] - alpha * v[i]);
    x[i] = xi;
    r[i] = ri;
    f[i] = fi;
    fh[i] = di * fi;
    return {h * ri, h * fi, h * gi, h * zi, ri * ri};
  }
};

struct Residual {  // r = b - A x, without a new shadow vector
  In b;
  Whole Ax;
  Scaling d;
  Out r, zh;
  static constexpr double flops = 2;
  SORDINO_HD void row(i32 i) {
    double ri = b[i] - Ax[i];
    r[i] = ri;
    zh[i] = d[i] * ri;
  }
};

struct ShadowDots {
  In rh, r, f, g, z;
  static constexpr double flops = 10;
  SORDINO_HD Sums<5> row(i32 i) {
    double h = rh[i], ri = r[i];
    return {h * ri, h * f[i], h * g[i], h * z[i], ri * ri};
  }
};

/// The vectors and scalars of the recurrences, and what both schedules (this one, and gatherbicgstab) do with them outside the
/// loop.
struct Recurrences {
  explicit Recurrences(const Problem& problem);
  Recorded begin() const;
  Recorded replace() const;  // everything that is carried along, computed anew from x and p

  Problem k;
  Vec r, rh, p, g, z, q, y, f, fh, zh;
  Vec t, v, t_old, v_old;  // *_old: of the iteration before; two buffers where others write into them, else one
  Scal rho, rho_old, rf, rg, rz, rr, qy, yy, shadow, alpha, alpha_old, zeta;

  Rotation rotation() const;
  ConvergedBi test() const { return {finish(rr), rho, zeta, shadow, k.target, k.bound}; }
  HalfStep half_step() const;
  Start five() const { return start(rho, rf, rg, rz, rr); }
  bicgstab::Bicgstab classic() const { return {k, {r, rh, p, q, fh, zh, v, v_old}}; }
};

struct PipeBicgstab final : BeforeClassic {
  static constexpr const char *name = "pipebicgstab", *matrix = "general";
  static constexpr const char* summary = "pipelined BiCGStab: two reductions, each hidden behind a product";
  static constexpr bool replicated = false, scalable = false;
  explicit PipeBicgstab(const Problem& problem);
  using kernels = KernelList<Kernel<Begin>, Kernel<First>, Kernel<HalfStep, ConvergedBi>, Kernel<Step>, Kernel<Residual>,
                             Kernel<ShadowDots>>;
};

}  // namespace sordino::pipebicgstab
