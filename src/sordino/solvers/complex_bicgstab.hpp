// BiCGStab of complex numbers: bicgstab.hpp with conjugated products, for vectors whose words are pairs.
//
// Per iteration: 2 operators, 2 halos, 3 reductions of 2, 3 and 3 real values, all exposed. Vector traffic beyond the operators
// 21 n complex numbers (42 n words), workspace 8 n of them. An operator as the preconditioner is applied twice an iteration.
// Stop rule, restarts and deviations are those of bicgstab.hpp.
#pragma once
#include "sordino/solvers/number_steps.hpp"

namespace sordino::complex_bicgstab {

struct Begin {  // r = rh = p = b - A x
  InNumber b, Ax;
  NumberScaling d;
  OutNumber r, rh, p, ph;
  static constexpr double flops = 12;
  SORDINO_HD Sums<3> row(i32 i) {
    Number ri = b[i] - Ax[i];
    r[i] = rh[i] = p[i] = ri;
    ph[i] = d[i] * ri;
    return {norm(ri), 0, norm(ri)};
  }
};

struct HalfStep {  // alpha = rho / (rh,v);  s = r - alpha v
  Get rho_re, rho_im, rv_re, rv_im;
  InNumber v, r;
  NumberScaling d;
  OutNumber s, sh;
  Number alpha = {};
  static constexpr double flops = 14;
  SORDINO_HD void head() { alpha = ratio(Number{rho_re, rho_im}, Number{rv_re, rv_im}); }
  SORDINO_HD void row(i32 i) {
    Number si = r[i] - alpha * v[i];
    s[i] = si;
    sh[i] = d[i] * si;
  }
};

struct Step {                                          // zeta = (t,s) / (t,t);  x += alpha p + zeta s;  r = s - zeta t
  Get rho_re, rho_im, rv_re, rv_im, st_re, st_im, tt;  // (s,t): the operator's epilogue conjugates what it has not computed
  Put zeta_re, zeta_im;
  InNumber ph, sh, s, t, rh;
  InOutNumber x;
  OutNumber r;
  Number alpha = {}, zeta = {};
  static constexpr double flops = 38;
  SORDINO_HD void head() {
    alpha = ratio(Number{rho_re, rho_im}, Number{rv_re, rv_im});
    zeta = ratio(conj(Number{st_re, st_im}), Number{tt, 0});  // t = 0: s is the residual, and the half step was the last
    zeta_re = zeta.re;
    zeta_im = zeta.im;
  }
  SORDINO_HD Sums<3> row(i32 i) {
    Number xi = x[i] + (alpha * ph[i] + zeta * sh[i]), ri = s[i] - zeta * t[i], rho = conj(rh[i]) * ri;
    x[i] = xi;
    r[i] = ri;
    return {rho.re, rho.im, norm(ri)};
  }
};

struct Direction {  // beta = alpha / zeta * rho_new / rho;  p = r + beta (p - zeta v)
  Get new_re, new_im, rho_re, rho_im, rv_re, rv_im, zeta_re, zeta_im;
  InNumber r, v;
  NumberScaling d;
  InOutNumber p;
  OutNumber ph;
  Number beta = {}, zeta = {};
  static constexpr double flops = 22;
  SORDINO_HD void head() {
    Number rho{rho_re, rho_im};
    zeta = {zeta_re, zeta_im};
    beta = ratio(ratio(rho, Number{rv_re, rv_im}), zeta) * ratio(Number{new_re, new_im}, rho);
  }
  SORDINO_HD void row(i32 i) {
    Number pi = r[i] + beta * (p[i] - zeta * v[i]);
    p[i] = pi;
    ph[i] = d[i] * pi;
  }
};

using Kernels = KernelList<Kernel<Begin>, Kernel<HalfStep>, Kernel<Step>, Kernel<Direction, ConvergedNumbers>>;

/// What method bicgstab is of complex systems.
std::unique_ptr<Method> make_method(const Problem& problem);

}  // namespace sordino::complex_bicgstab
