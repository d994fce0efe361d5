// Asynchronous conjugate gradients (Gropp 2010, "Update on libraries for Blue Waters"; PETSc's KSPGROPPCG).
//
// Per iteration: 1 operator, 1 halo, 2 reductions of 1 and 2 values, both hidden: (p,s) behind q = M^-1 s, (r,z) and (r,r)
// behind w = A z. Vector traffic beyond the operator 18 n words, workspace 6 n. s = A p and z = M^-1 r are recurrences, so
// what can be attained is a little less than classic CG's, and cg goes on in the end. M may be any operator: the dearer it is,
// the more it hides.
#pragma once
#include "sordino/solvers/before_classic.hpp"
#include "sordino/solvers/cg.hpp"

namespace sordino::gropp {

struct Update {  // alpha = gamma / (p,s);  x += alpha p;  r -= alpha s;  z -= alpha q
  Get gamma, ps;
  In p, s, q;
  InOut x, r, z;
  double alpha = 0;
  static constexpr double flops = 10;
  SORDINO_HD void head() { alpha = gamma / ps; }
  SORDINO_HD Sums<2> row(i32 i) {
    double xi = x[i] + alpha * p[i], ri = r[i] - alpha * s[i], zi = z[i] - alpha * q[i];
    x[i] = xi;
    r[i] = ri;
    z[i] = zi;
    return {ri * zi, ri * ri};
  }
};

struct Direction {  // beta = gamma / gamma_old;  p = z + beta p;  s = w + beta s
  Get gamma, gamma_old;
  In z, w;
  InOut p, s;
  double beta = 0;
  static constexpr double flops = 6;
  SORDINO_HD void head() { beta = gamma / gamma_old; }
  SORDINO_HD Sums<1> row(i32 i) {
    double pi = z[i] + beta * p[i], si = w[i] + beta * s[i];
    p[i] = pi;
    s[i] = si;
    return {pi * si};
  }
};

struct Gropp final : BeforeClassic {
  static constexpr const char *name = "gropp", *matrix = "spd";
  static constexpr const char* summary =
      "Gropp's asynchronous CG: two reductions, hidden behind the preconditioner and the product";
  static constexpr bool replicated = false, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_words;
  explicit Gropp(const Problem& problem);
  using kernels = KernelList<Kernel<cg::Defect>, Kernel<Scaled>, Kernel<Update>, Kernel<Direction, ConvergedSpd>>;
};

}  // namespace sordino::gropp
