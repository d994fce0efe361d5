// Preconditioned conjugate gradients (001, Algorithm 1), with the paper's fusion of the updates of x and p (section IV-D).
//
// Per iteration: 1 operator, 1 halo, 2 reductions of 1 and 2 values, both exposed: (w,p) is needed at once, and (r,r) travels
// with (r,z) (001-E1). Vector traffic beyond the operator 10 n words, workspace 3 n. x lags by one step inside the loop; `end`
// catches up (001-E2). With an operator as the preconditioner z is kept: workspace 4 n. (r,r) is then summed with (r,z), behind
// M, which is applied to the last r, too: one application for a sum less in each iteration.
#pragma once
#include "sordino/solvers/method.hpp"

namespace sordino::cg {

struct Begin {  // r = b - A x;  p = z = M^-1 r
  In b, Ax;
  Scaling d;
  Out r, p;
  static constexpr double flops = 4;
  SORDINO_HD Sums<1> row(i32 i) {
    double ri = b[i] - Ax[i], zi = d[i] * ri;
    r[i] = ri;
    p[i] = zi;
    return {ri * zi};
  }
};

struct Residual {  // alpha = (r,z) / (w,p);  r -= alpha w;  z = M^-1 r is not kept: Direction computes it again from r
  Get rz, wp;
  In w;
  Scaling d;
  InOut r;
  LastUse last_use = {};  // of w
  double alpha = 0;
  static constexpr double flops = 7;
  template <class V>
  void last_uses(V&& visit) const {
    if (last_use.makes_room) visit(w);
  }
  SORDINO_HD void head() { alpha = rz / wp; }
  SORDINO_HD Sums<2> row(i32 i) {
    double di = d[i], ri = r[i] - alpha * last_use.load(w[i]);
    r[i] = ri;
    return {ri * (di * ri), ri * ri};
  }
};

struct Direction {  // x += alpha p;  beta = (r,z) / (r,z)_old;  p = z + beta p
  Get rz, rz_old, wp;
  In r;
  Scaling d;
  InOut x, p;
  LastUse last_use = {};  // of r, d and x
  double alpha = 0, beta = 0;
  static constexpr double flops = 5;
  template <class V>
  void last_uses(V&& visit) const {
    if (!last_use.makes_room) return;
    visit(r);
    visit(d);
    visit(x);
  }
  SORDINO_HD void head() {
    alpha = rz_old / wp;
    beta = rz / rz_old;
  }
  SORDINO_HD void row(i32 i) {
    double pi = p[i], xi = last_use.load(x[i]), ri = last_use.load(r[i]), di = d.p ? last_use.load(d.p[i]) : 1.0;
    last_use.store(x[i], xi + alpha * pi);
    p[i] = di * ri + beta * pi;
  }
};

struct LastStep {  // x += alpha p
  Get rz, wp;
  In p;
  InOut x;
  double alpha = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() { alpha = rz / wp; }
  SORDINO_HD void row(i32 i) { x[i] += alpha * p[i]; }
};

// --- with a preconditioner that is no diagonal: z = M^-1 r is a command of its own ---

struct Defect {  // r = b - A x
  In b, Ax;
  Out r;
  static constexpr double flops = 1;
  SORDINO_HD void row(i32 i) { r[i] = b[i] - Ax[i]; }
};

struct ResidualAlone {  // alpha = (r,z) / (w,p);  r -= alpha w
  Get rz, wp;
  In w;
  InOut r;
  double alpha = 0;
  static constexpr double flops = 2;
  // Where p meets none of A p, r stays as it is: the exit test, behind M, says so, and M is given no infinite numbers.
  SORDINO_HD void head() { alpha = wp != 0 ? rz / wp : 0; }
  SORDINO_HD void row(i32 i) { r[i] -= alpha * w[i]; }
};

/// Vectors of a method behind which cg stands; unset, cg has its own.
struct Lent {
  Vec r;       // that M^-1 is applied to
  Vec p;       // that A is applied to
  Vec z = {};  // a result of M, where that is no diagonal
};

struct Cg final : Method {
  static constexpr const char *name = "cg", *matrix = "spd";
  static constexpr const char* summary = "classic preconditioned CG: two exposed reductions, the fewest bytes";
  static constexpr bool replicated = false, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_words;
  explicit Cg(const Problem& problem, const Lent& lent = {});
  using kernels = KernelList<Kernel<Begin>, Kernel<Residual>, Kernel<Direction, ConvergedSpd>, Kernel<LastStep>, Kernel<Defect>,
                             Kernel<ResidualAlone>>;

 private:
  struct Names {
    Vec w, r, p, z;
    Scal wp, rz, rz_old;
  };
  void record(const Problem& k, const Names& names);
  void record_with_operator(const Problem& k, const Names& names);
};

}  // namespace sordino::cg
