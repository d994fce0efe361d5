// The largest eigenvalue of A M^-1, as methods need it that build polynomials of it: from steps of conjugate gradients, whose
// scalars are a Lanczos matrix with the Ritz values as its eigenvalues, or by the power method (001, section III-C).
//
// Both begin with the same pseudo-random vector, whatever b, so the value is one of the matrix. Both find it from below; the
// Ritz value of 12 steps is nearer than 100 steps of the power method where eigenvalues lie close, and gets 5 percent on top.
#pragma once
#include <algorithm>

#include "sordino/solvers/method.hpp"

namespace sordino::spectrum {

constexpr int ritz_steps = 12, power_steps = 100;
constexpr double margin = 1.05;

struct Random {  // numbers from -1 to 1, by the row's number in the whole
  i64 first;
  Out v;
  SORDINO_HD void row(i32 i) {
    u64 h = u64(first + i + 1) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
    v[i] = double(h >> 11) * 0x1p-52 - 1;
  }
};

struct Direction {  // p = z + (r,z) / (r,z)_old p
  Get rz, rz_old;
  In z;
  InOut p;
  double beta = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() { beta = rz_old > 0 ? rz / rz_old : 0; }
  SORDINO_HD void row(i32 i) { p[i] = z[i] + beta * p[i]; }
};

struct Residual {  // r -= (r,z) / (w,p) w;  nothing is left to do where (w,p) is not positive
  Get rz, wp;
  In w;
  InOut r;
  double alpha = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() { alpha = wp > 0 ? rz / wp : 0; }
  SORDINO_HD void row(i32 i) { r[i] -= alpha * w[i]; }
};

struct Normalize {  // v = w / ||w||
  Get ww;
  In w;
  Out v;
  double scale = 0;
  static constexpr double flops = 1;
  SORDINO_HD void head() { scale = ww > 0 ? 1 / std::sqrt(ww) : 0; }
  SORDINO_HD void row(i32 i) { v[i] = scale * w[i]; }
};

/// eta = 2 / lambda_max (001, Alg. 3, l.1, with lambda_min = 0), and 1 where nothing is known of it.
SORDINO_HD inline double eta_of(double largest) { return largest > 0 && largest < 1e300 ? 2 / largest : 1; }

struct FromPower {
  Get ww;
  Put eta;
  SORDINO_HD void head() { eta = eta_of(std::sqrt(ww)); }
};

/// The Lanczos matrix of k steps has 1 / alpha_j + beta_(j-1) / alpha_(j-1) in its diagonal, and the roots of beta_j over
/// alpha_j beside it; its largest eigenvalue is found by halving an interval, with Sturm's count.
struct FromRitz {
  Get rz[ritz_steps + 1], wp[ritz_steps];
  Put eta;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    for (auto& g : rz) visit(g);
    for (auto& g : wp) visit(g);
    visit(eta);
  }
  SORDINO_HD void head() {
    double diagonal[ritz_steps], beside[ritz_steps];
    int k = 0;
    double upper = 0, before = 0;
    for (; k < ritz_steps && wp[k] > 0 && rz[k] > 0; k++) {
      double inverse = wp[k] / rz[k], beta = rz[k + 1] > 0 ? rz[k + 1] / rz[k] : 0;
      diagonal[k] = inverse + before;
      beside[k] = std::sqrt(beta) * inverse;
      upper = std::fmax(upper, diagonal[k] + beside[k] + (k > 0 ? beside[k - 1] : 0));
      before = beta * inverse;
    }
    double lower = 0;
    for (int halving = 0; halving < 40; halving++) {
      double middle = lower + (upper - lower) / 2;
      (is_above_all(middle, diagonal, beside, k) ? upper : lower) = middle;
    }
    eta = eta_of(margin * upper);
  }
  /// No number beside the diagonal is squared: A's entries may be of any size.
  SORDINO_HD static bool is_above_all(double x, const double* diagonal, const double* beside, int k) {
    double pivot = 1;
    for (int j = 0; j < k; j++) {
      pivot = x - diagonal[j] - (j > 0 ? beside[j - 1] / pivot * beside[j - 1] : 0);
      if (!(pivot > 0)) return false;
    }
    return true;
  }
};

using Kernels = KernelList<Kernel<Random>, Kernel<Scaled>, Kernel<Direction>, Kernel<Residual>, Kernel<Normalize>,
                           Kernel<FromPower>, Kernel<FromRitz>>;

/// What the estimate overwrites. v: M^-1 is applied to it; p: A is; w: a result of A.
struct Workspace {
  Vec v, p, w;
};

/// Records the estimate; eta is a scalar from then on. 12 products and 24 exposed sums, or 100 of each.
Recorded estimate(const Problem& problem, const Workspace& work, Scal eta);

}  // namespace sordino::spectrum
