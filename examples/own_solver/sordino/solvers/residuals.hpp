// Conjugate residuals (Stiefel 1955; Saad, Iterative Methods for Sparse Linear Systems, Algorithm 6.20) with a diagonal M, for
// symmetric positive definite A: each step minimises (r, M^-1 r), where CG minimises the error in the norm of A.
//
// Per iteration: 1 operator, 1 halo, 2 reductions of 2 and 1 values, both exposed. Vector traffic beyond the operator 16 n
// words, workspace 5 n.
#pragma once
#include <cmath>

#include "sordino/solvers/method.hpp"

namespace sordino::residuals {

struct Begin {  // r = b - A x;  z = M^-1 r;  p = q = 0.   beta = 0 in the first iteration because rho_old is infinite
  Put rho_old;
  In b, Ax;
  Scaling d;
  Out r, z, p, q;
  static constexpr double flops = 2;
  SORDINO_HD void head() { rho_old = HUGE_VAL; }
  SORDINO_HD void row(i32 i) {
    double ri = b[i] - Ax[i];
    r[i] = ri;
    z[i] = d[i] * ri;
    p[i] = q[i] = 0;
  }
};

struct Direction {  // beta = rho / rho_old;  p = z + beta p;  q = A p = w + beta q
  Get rho, rho_old;
  In z, w;
  Scaling d;
  InOut p, q;
  double beta = 0;
  static constexpr double flops = 7;
  SORDINO_HD void head() { beta = rho / rho_old; }
  SORDINO_HD Sums<1> row(i32 i) {
    double qi = w[i] + beta * q[i];
    p[i] = z[i] + beta * p[i];
    q[i] = qi;
    return {qi * (d[i] * qi)};
  }
};

struct Step {  // alpha = rho / (q, M^-1 q);  x += alpha p;  r -= alpha q;  z = M^-1 r
  Get rho, qq;
  In p, q;
  Scaling d;
  InOut x, r;
  Out z;
  double alpha = 0;
  static constexpr double flops = 5;
  SORDINO_HD void head() { alpha = rho / qq; }
  SORDINO_HD void row(i32 i) {
    x[i] += alpha * p[i];
    double ri = r[i] - alpha * q[i];
    r[i] = ri;
    z[i] = d[i] * ri;
  }
};

struct Residuals final : Method {
  static constexpr const char *name = "residuals", *matrix = "spd";
  static constexpr const char* summary = "conjugate residuals: two exposed reductions, one product";
  static constexpr bool replicated = false;
  explicit Residuals(const Problem& problem);
  using kernels = KernelList<Kernel<Begin>, Kernel<Direction, ConvergedSpd>, Kernel<Step>>;
};

}  // namespace sordino::residuals
