// Conjugate gradients in two commands an iteration: the update of p is made where the product reads it (the fusion of Rupp,
// Weinbub, Juengel and Grasser 2016, "Pipelined iterative solvers with kernel fusion for GPUs", of the classic recurrences).
//
// Per iteration: 1 operator, 1 halo of two vectors, 2 reductions of 1 and 2 values, both exposed. Vector traffic beyond the
// operator 10 n words, 8 n without a preconditioner; workspace 5 n, and 4 n without: p has two buffers, which change places,
// and z is kept. So it is where products are fused with the direction: matrices of real entries. With other operators that is a
// command of its own, of 3 n words. The exit test stands first, and x never lags.
#pragma once
#include "sordino/solvers/method.hpp"

namespace sordino::cg_fused {

struct Begin {  // r = b - A x;  z = M^-1 r;  p = 0, (r,z)_old = 1: the first direction is z
  In b, Ax;
  Scaling d;
  Out r, z, p;
  Put rz_old, wp;
  static constexpr double flops = 4;
  SORDINO_HD void head() { rz_old = 1, wp = 1; }
  SORDINO_HD Sums<2> row(i32 i) {
    double ri = b[i] - Ax[i], zi = d[i] * ri;
    r[i] = ri;
    if (z.p) z[i] = zi;
    p[i] = 0;
    return {ri * zi, ri * ri};
  }
};

struct Direction {  // beta = (r,z) / (r,z)_old;  p_new = z + beta p
  Get rz, rz_old;
  In z, p;
  Out p_new;
  double beta = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() { beta = rz / rz_old; }
  SORDINO_HD void row(i32 i) { p_new[i] = z[i] + beta * p[i]; }
};

struct Step {  // alpha = (r,z) / (w,p);  x += alpha p;  r -= alpha w;  z = M^-1 r, which is r where there is no M
  Get rz, wp;
  In p, w;
  Scaling d;
  InOut x, r;
  Out z;
  double alpha = 0;
  static constexpr double flops = 9;
  SORDINO_HD void head() { alpha = rz / wp; }
  SORDINO_HD Sums<2> row(i32 i) {
    x[i] += alpha * p[i];
    double ri = r[i] - alpha * w[i], zi = d[i] * ri;
    r[i] = ri;
    if (z.p) z[i] = zi;
    return {ri * zi, ri * ri};
  }
};

struct CgFused final : Method {
  static constexpr const char *name = "cg-fused", *matrix = "spd";
  static constexpr const char* summary = "classic CG in two commands an iteration, for GPUs and small parts";
  static constexpr bool replicated = false;
  static constexpr Factors complex = Factors::of_words;
  explicit CgFused(const Problem& problem);
  using kernels = KernelList<Kernel<Begin>, Kernel<Direction, ConvergedSpd>, Kernel<Step>>;
};

}  // namespace sordino::cg_fused
