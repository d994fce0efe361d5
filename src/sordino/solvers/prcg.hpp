// Pipelined predict-and-recompute conjugate gradients (Chen & Carson, SISC 42(5), 2020, PIPE-PR-CG).
//
// Per iteration: 2 operators in one pass over A, 2 halos, 1 reduction of 5 values, hidden behind both operators. Vector traffic
// beyond the operators 15 n words, workspace 9 n. (r,y) and w = A y are predicted for the scalars and recomputed for the
// vectors, which keeps the attainable accuracy near classic CG's, where Ghysels-Vanroose's recurrences lose it. Deviation: beta
// comes from the predicted (r,y)_new, as in the paper, but the test uses the recomputed (r,r). Where they lead no further, cg
// goes on, in r and y.
//
// With an operator as M, t = M^-1 s is a command of its own, one application an iteration, and there are two reductions: of
// (r,y), (p,s) and (r,r), hidden behind M and both products, and of (r,t) and (t,s), which M's last command starts, behind the
// products alone. y = M^-1 r is a recurrence, y -= alpha t, as in the paper: M is the same symmetric operator each time, and
// what is attained depends on how far y drifts from M^-1 r. Vector traffic beyond the operators 14 n words, workspace 9 n.
#pragma once
#include "sordino/solvers/before_classic.hpp"
#include "sordino/solvers/cg.hpp"

namespace sordino::prcg {

struct Begin {  // r = b - A x;  y = M^-1 r
  In b, Ax;
  Scaling d;
  Out r, y;
  static constexpr double flops = 2;
  SORDINO_HD void row(i32 i) {
    double ri = b[i] - Ax[i];
    r[i] = ri;
    y[i] = d[i] * ri;
  }
};

struct First {  // p = y;  s = w = A y;  t = M^-1 s
  In y, w, r;
  Scaling d;
  Out p, s, t;
  static constexpr double flops = 11;
  SORDINO_HD Sums<5> row(i32 i) {
    double si = w[i], ti = d[i] * si, yi = y[i], ri = r[i];
    p[i] = yi;
    s[i] = si;
    t[i] = ti;
    return {ri * yi, yi * si, ri * ti, ti * si, ri * ri};
  }
};

/// (r,y) after a step of length alpha.
SORDINO_HD inline double predicted(double ry, double alpha, double rt, double ts) {
  return ry - 2 * alpha * rt + alpha * alpha * ts;
}

struct Step {  // all updates; (r,y) of the next iteration is predicted from this iteration's five sums
  Get ry, ps, rt, ts;
  Scaling d;
  In y, t, w, u;
  InOut x, r, p, s;
  Out y_new, t_new;
  double alpha = 0, beta = 0;
  static constexpr double flops = 23;
  static constexpr int resident_blocks = 4;  // ten loads are in flight
  SORDINO_HD void head() {
    alpha = ry / ps;
    beta = predicted(ry, alpha, rt, ts) / ry;
  }
  SORDINO_HD Sums<5> row(i32 i) {  // all is loaded before anything is stored (ADR 51)
    double pi = p[i], si = s[i], xi = x[i] + alpha * pi, ri = r[i] - alpha * si, yi = y[i] - alpha * t[i];
    si = (w[i] - alpha * u[i]) + beta * si;
    pi = yi + beta * pi;
    double ti = d[i] * si;
    x[i] = xi;
    r[i] = ri;
    y_new[i] = yi;
    s[i] = si;
    p[i] = pi;
    t_new[i] = ti;
    return {ri * yi, pi * si, ri * ti, ti * si, ri * ri};
  }
};

struct StepAlone {  // the same, without t_new = M^-1 s and the sums of it
  Get ry, ps, rt, ts;
  In y, t, w, u;
  InOut x, r, p, s;
  Out y_new;
  double alpha = 0, beta = 0;
  static constexpr double flops = 18;
  SORDINO_HD void head() {
    alpha = ry / ps;
    beta = predicted(ry, alpha, rt, ts) / ry;
  }
  SORDINO_HD Sums<3> row(i32 i) {
    double pi = p[i], si = s[i], xi = x[i] + alpha * pi, ri = r[i] - alpha * si, yi = y[i] - alpha * t[i];
    si = (w[i] - alpha * u[i]) + beta * si;
    pi = yi + beta * pi;
    x[i] = xi;
    r[i] = ri;
    y_new[i] = yi;
    s[i] = si;
    p[i] = pi;
    return {ri * yi, pi * si, ri * ri};
  }
};

struct Prcg final : BeforeClassic {
  static constexpr const char *name = "prcg", *matrix = "spd";
  static constexpr const char* summary = "pipelined predict-and-recompute CG: its one reduction is hidden behind two products";
  static constexpr bool replicated = false, applies_pairs = true, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_words;
  explicit Prcg(const Problem& problem);
  using kernels = KernelList<Kernel<Begin>, Kernel<First>, Kernel<Step, ConvergedSpd>, Kernel<StepAlone, ConvergedSpd>>;

 private:
  struct Names {
    Vec r, p, s, w, u, y, y_new, t, t_new;
    Scal ry, ps, rt, ts;
  };
  void record(const Problem& k, const Names& names);
  void record_with_operator(const Problem& k, const Names& names);
};

}  // namespace sordino::prcg
