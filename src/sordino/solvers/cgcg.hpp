// Single-reduction conjugate gradients (Chronopoulos & Gear 1989; as D'Azevedo, Eijkhout & Romine 1993).
//
// Per iteration: 1 operator, 1 halo, 1 reduction of 3 values, exposed; two commands, the fewest of all methods here: right
// where latency rules. Vector traffic beyond the operator 13 n words, workspace 5 n; without M, where u is r, 9 n and 4 n. With
// a nullspace, where A x is looked at meanwhile, a vector more. Where it leads no further, cg goes on, in p and u.
//
// With an operator as M, u = M^-1 r is a command of its own: one application an iteration, 11 n words, workspace 5 n, and still
// one sum, behind the product. The recurrences ask no more of M than those of cg: s = A p alone is carried, which M has no
// part in, so that what is attained is what a diagonal M attains. M is the same symmetric operator each time.
#pragma once
#include <cmath>

#include "sordino/solvers/before_classic.hpp"
#include "sordino/solvers/cg.hpp"

namespace sordino::cgcg {

// In both steps r may be left unset: without M it is u.

struct Begin {  // r = b - A x;  u = M^-1 r, where M is a diagonal;  p = s = 0.   beta = 0 at first, for gamma_old is infinite
  Put gamma_old, alpha_old;
  In b, Ax;
  Scaling d;
  Out r, u, p, s;
  static constexpr double flops = 2;
  SORDINO_HD void head() {
    gamma_old = HUGE_VAL;
    alpha_old = 1;
  }
  SORDINO_HD void row(i32 i) {
    double ri = b[i] - Ax[i];
    if (r.p) r[i] = ri;
    if (u.p) u[i] = d[i] * ri;
    p[i] = s[i] = 0;
  }
};

/// gamma / (delta - beta gamma / alpha_old), which is (r,u) / (p, A p).
SORDINO_HD inline double length(double gamma, double beta, double delta, double alpha_old) {
  return gamma / (delta - beta * gamma / alpha_old);
}

struct Step {  // beta = gamma / gamma_old;  p = u + beta p;  s = w + beta s;  x += alpha p;  r -= alpha s;  u = M^-1 r
  Get gamma, gamma_old, delta, alpha_old;
  Put alpha;
  In w;
  Scaling d;
  InOut x, r, u, p, s;
  double a = 0, beta = 0;
  static constexpr double flops = 9;
  static constexpr int resident_blocks = 5;  // seven loads are in flight
  SORDINO_HD void head() {
    beta = gamma / gamma_old;
    a = length(gamma, beta, delta, alpha_old);
    alpha = a;
  }
  SORDINO_HD void row(i32 i) {  // all is loaded before anything is stored (ADR 51)
    double ui = u[i], pi = ui + beta * p[i], si = w[i] + beta * s[i], xi = x[i], di = d[i], ri = (r.p ? r[i] : ui) - a * si;
    p[i] = pi;
    s[i] = si;
    x[i] = xi + a * pi;
    if (r.p) r[i] = ri;
    u[i] = di * ri;
  }
};

struct StepAlone {  // the same, without u = M^-1 r
  Get gamma, gamma_old, delta, alpha_old;
  Put alpha;
  In w, u;
  InOut x, r, p, s;
  double a = 0, beta = 0;
  static constexpr double flops = 8;
  SORDINO_HD void head() {
    beta = gamma / gamma_old;
    a = length(gamma, beta, delta, alpha_old);
    alpha = a;
  }
  SORDINO_HD void row(i32 i) {
    double pi = u[i] + beta * p[i], si = w[i] + beta * s[i], xi = x[i], ri = r[i];
    p[i] = pi;
    s[i] = si;
    x[i] = xi + a * pi;
    r[i] = ri - a * si;
  }
};

struct Cgcg final : BeforeClassic {
  static constexpr const char *name = "cgcg", *matrix = "spd";
  static constexpr const char* summary = "single-reduction CG: one exposed reduction, two commands an iteration";
  static constexpr bool replicated = false, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_words;
  explicit Cgcg(const Problem& problem);
  using kernels = KernelList<Kernel<Begin>, Kernel<Step, ConvergedSpd>, Kernel<StepAlone, ConvergedSpd>>;
};

}  // namespace sordino::cgcg
