// Conjugate orthogonal conjugate gradients (van der Vorst & Melissen, IEEE Trans. Magn. 26(2), 1990) for complex symmetric
// matrices, A^T = A: conjugate gradients with products that conjugate nothing. Of a real matrix it is cg.
//
// Per iteration: 1 operator, 1 halo, 2 reductions of 2 and 4 real values, both exposed. Vector traffic beyond the operator 10 n
// complex numbers (20 n words), workspace 3 n complex. x lags by one step inside the loop; `end` catches up. With an operator
// as the preconditioner, which is to be symmetric, too, z is kept: workspace 4 n. Deviations: none of the
// recurrence; (r,r) and (z,z) travel with r^T z, so that the test sees the true norm, and a quasi-null r (r^T z = 0 of an r
// that is not) is a breakdown, from which the driver restarts.
#pragma once
#include "sordino/solvers/number_steps.hpp"

namespace sordino::cocg {

SORDINO_HD inline Sums<4> products(Number r, Number z) {  // r^T z, (r,r), (z,z)
  Number rz = r * z;
  return {rz.re, rz.im, norm(r), norm(z)};
}

struct Begin {  // r = b - A x;  p = z = M^-1 r
  InNumber b, Ax;
  NumberScaling d;
  OutNumber r, p;
  static constexpr double flops = 20;
  SORDINO_HD Sums<4> row(i32 i) {
    Number ri = b[i] - Ax[i], zi = d[i] * ri;
    r[i] = ri;
    p[i] = zi;
    return products(ri, zi);
  }
};

struct Residual {  // alpha = r^T z / w^T p;  r -= alpha w;  z = M^-1 r is not kept: Direction computes it again from r
  Get rz_re, rz_im, wp_re, wp_im;
  InNumber w;
  NumberScaling d;
  InOutNumber r;
  Number alpha = {};
  static constexpr double flops = 26;
  SORDINO_HD void head() { alpha = ratio(Number{rz_re, rz_im}, Number{wp_re, wp_im}); }
  SORDINO_HD Sums<4> row(i32 i) {
    Number ri = r[i] - alpha * w[i];
    r[i] = ri;
    return products(ri, d[i] * ri);
  }
};

struct Direction {  // x += alpha p;  beta = r^T z / (r^T z)_old;  p = z + beta p
  Get rz_re, rz_im, old_re, old_im, wp_re, wp_im;
  InNumber r;
  NumberScaling d;
  InOutNumber x, p;
  Number alpha = {}, beta = {};
  static constexpr double flops = 22;
  SORDINO_HD void head() {
    Number old{old_re, old_im};
    alpha = ratio(old, Number{wp_re, wp_im});
    beta = ratio(Number{rz_re, rz_im}, old);
  }
  SORDINO_HD void row(i32 i) {
    Number pi = p[i], xi = x[i] + alpha * pi, zi = d[i] * r[i];
    x[i] = xi;
    p[i] = zi + beta * pi;
  }
};

struct LastStep {  // x += alpha p
  Get rz_re, rz_im, wp_re, wp_im;
  InNumber p;
  InOutNumber x;
  Number alpha = {};
  static constexpr double flops = 8;
  SORDINO_HD void head() { alpha = ratio(Number{rz_re, rz_im}, Number{wp_re, wp_im}); }
  SORDINO_HD void row(i32 i) { x[i] = x[i] + alpha * p[i]; }
};

// --- with a preconditioner that is no diagonal: z = M^-1 r is a command of its own ---

struct Defect {  // r = b - A x
  InNumber b, Ax;
  OutNumber r;
  static constexpr double flops = 2;
  SORDINO_HD void row(i32 i) { r[i] = b[i] - Ax[i]; }
};

struct ResidualAlone {  // alpha = r^T z / w^T p;  r -= alpha w
  Get rz_re, rz_im, wp_re, wp_im;
  InNumber w;
  InOutNumber r;
  Number alpha = {};
  static constexpr double flops = 11;
  SORDINO_HD void head() { alpha = ratio(Number{rz_re, rz_im}, Number{wp_re, wp_im}); }
  SORDINO_HD Sums<1> row(i32 i) {
    Number ri = r[i] - alpha * w[i];
    r[i] = ri;
    return {norm(ri)};
  }
};

struct Cocg final : Method {
  static constexpr const char *name = "cocg", *matrix = "spd";
  static constexpr const char* summary = "conjugate orthogonal CG for complex symmetric matrices; of real ones it is cg";
  static constexpr bool replicated = false, any_preconditioner = true;
  static constexpr Factors complex = Factors::of_numbers;
  explicit Cocg(const Problem& problem);
  using kernels = KernelList<Kernel<Begin>, Kernel<Residual>, Kernel<Direction, ConvergedNumbers>, Kernel<LastStep>,
                             Kernel<Defect>, Kernel<ResidualAlone>>;

 private:
  struct Names {
    Vec w, r, p;
    ScalNumber wp, rz, rz_old;
    Scal zz;
  };
  void record(const Problem& k, const Names& names);
  void record_with_operator(const Problem& k, const Names& names);
};

}  // namespace sordino::cocg
