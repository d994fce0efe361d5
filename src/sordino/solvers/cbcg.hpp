// Preconditioned Chebyshev-basis communication-avoiding conjugate gradients, P-CBCG (001, Algorithms 2 and 3, as corrected by
// 001-E3..E7). A round of the loop is s iterations of conjugate gradients, and counts as s: those minimize along one direction
// after the other, this one along s at once.
//
// Per round: s operators, s halos, s preconditioners, 2 reductions of s^2 + 1 and of s (s + 1) / 2 + s values, both
// exposed. Products of batches of rows (tall_products.hpp) read every vector once, so that the vector traffic beyond the
// operators is 18 s n words, and some per cent for what batches leave; workspace (4 s + 6) n, and s^2 + s for each batch, of
// which every block of rows has one. Deviations: (r,r) travels with line 11's products; lambda_max is by default a Ritz value
// (spectrum.hpp); a vector of the basis that depends on those before it is left out of the step. Where directions lose their
// conjugacy (gram::Factor) or a residual its accuracy, s falls back to s / 2 and so on, and to cg.
#pragma once
#include <cmath>

#include "sordino/solvers/cg.hpp"
#include "sordino/solvers/gram.hpp"
#include "sordino/solvers/spectrum.hpp"

namespace sordino::cbcg {

using gram::most_s;
constexpr i32 cpu_rows = 64;  // that a CPU computes together

struct Begin {  // r = b - A x;  S_0 = M^-1 r, where M is a diagonal;  (r,r)
  In b, Ax;
  Scaling d;
  Out r, S0;
  Put rr_before;
  static constexpr double flops = 4;
  SORDINO_HD void head() { rr_before = HUGE_VAL; }
  SORDINO_HD Sums<1> row(i32 i) {
    double ri = b[i] - Ax[i];
    r[i] = ri;
    if (S0.p) S0[i] = d[i] * ri;
    return {ri * ri};
  }
};

struct Next {  // z = f eta A S_(j-1) - f z_(j-1) - g z_(j-2);  S_j = M^-1 z, where M is a diagonal (Alg. 3, l.5, 6, 8, 9)
  Get eta;
  double f, g;
  In AS, z1 = {}, z2 = {};  // unset, where they have no part in it
  Scaling d;
  Out z, S = {};
  static constexpr double flops = 6;
  SORDINO_HD void row(i32 i) {
    double zi = f * eta * AS[i], di = d[i];
    if (z1.p) zi -= f * z1[i];
    if (z2.p) zi -= g * z2[i];
    z[i] = zi;
    if (S.p) S[i] = di * zi;
  }
};

/// A row of some vectors, loaded together: with a branch before each, loads would wait for each other.
constexpr int at_once = 4;
struct Several {
  double v[at_once];
};
SORDINO_HD inline Several several(const In* vectors, int first, int count, i32 row) {
  Several of;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int k = 0; k < at_once; k++) of.v[k] = first + k < count ? vectors[first + k][row] : 0;
  return of;
}

struct First {  // Q = S;  A Q = A S (001-E5)
  int s;
  In S[most_s] = {}, AS[most_s] = {};
  Out Q[most_s] = {}, AQ[most_s] = {};
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    for (int j = 0; j < s; j++) {
      visit(S[j]);
      visit(AS[j]);
      visit(Q[j]);
      visit(AQ[j]);
    }
  }
  static constexpr int resident_blocks = 3;
  SORDINO_HD void row(i32 i) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int first = 0; first < most_s; first += at_once) {
      if (first >= s) break;
      const Several from = several(S, first, s, i), A_from = several(AS, first, s, i);
      for (int k = 0; k < at_once; k++) {
        if (first + k >= s) break;
        Q[first + k][i] = from.v[k];
        AQ[first + k][i] = A_from.v[k];
      }
    }
  }
};

struct Step {  // x += Q a;  r -= A Q a;  S_0 = M^-1 r, where M is a diagonal (Alg. 2, l.8, 9);  (r,r)
  int s;
  double rows;  // of this rank
  Get rr;
  Put rr_before;
  gram::Small a;
  In Q[most_s] = {}, AQ[most_s] = {};
  InOut x, r;
  Scaling d;
  Out S0;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(rr);
    visit(rr_before);
    visit(a);
    for (int j = 0; j < s; j++) {
      visit(Q[j]);
      visit(AQ[j]);
    }
    visit(x);
    visit(r);
    visit(d);
    visit(S0);
  }
  static constexpr int resident_blocks = 3;
  Cost cost() const { return {0, (4.0 * s + 2) * rows}; }
  SORDINO_HD void head() { rr_before = rr; }
  SORDINO_HD Sums<1> row(i32 i) {
    double xi = x[i], ri = r[i], di = d[i];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int first = 0; first < most_s; first += at_once) {
      if (first >= s) break;
      const Several of_x = several(Q, first, s, i), of_r = several(AQ, first, s, i);
      for (int k = 0; k < at_once; k++) {
        if (first + k >= s) break;
        xi += a[first + k] * of_x.v[k];
        ri -= a[first + k] * of_r.v[k];
      }
    }
    x[i] = xi;
    r[i] = ri;
    if (S0.p) S0[i] = di * ri;
    return {ri * ri};
  }
};

struct Directions {  // Q = S - Q B;  A Q = A S - A Q B (Alg. 2, l.13, 14, with 001-E3)
  int s;
  double rows;  // of this rank
  gram::Small B;
  In S[most_s] = {}, AS[most_s] = {};
  InOut Q[most_s] = {}, AQ[most_s] = {};
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(B);
    for (int j = 0; j < s; j++) {
      visit(S[j]);
      visit(AS[j]);
      visit(Q[j]);
      visit(AQ[j]);
    }
  }
  static constexpr int resident_blocks = 3;
  Cost cost() const { return {0, 4.0 * s * s * rows}; }
  SORDINO_HD void row(i32 i) const {
    update(S, Q, i);
    update(AS, AQ, i);
  }
  void block(i32 begin, i32 end) {
    for (i32 first = begin; first < end; first += cpu_rows) {
      const i32 rows_here = std::min(cpu_rows, end - first);
      update_block(S, Q, first, rows_here);
      update_block(AS, AQ, first, rows_here);
    }
  }
  void done(i32) {}

 private:
  /// Loops are of known lengths, so that what was there lies in registers, and four sums read as many entries of B at once.
  SORDINO_HD void update(const In* from, const InOut* to, i32 i) const {
    double old[most_s];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < most_s; k++) old[k] = k < s ? to[k][i] : 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int first = 0; first < s; first += at_once) {
      double sum[at_once];
      for (int k = 0; k < at_once; k++) sum[k] = first + k < s ? from[first + k][i] : 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int j = 0; j < most_s; j++) {
        if (j >= s) break;
        for (int k = 0; k < at_once; k++)
          if (first + k < s) sum[k] -= old[j] * B[j * s + first + k];
      }
      for (int k = 0; k < at_once; k++)
        if (first + k < s) to[first + k][i] = sum[k];
    }
  }
  /// The same for up to cpu_rows rows.
  void update_block(const In* from, const InOut* to, i32 first, i32 rows_here) const {
    double old[most_s][cpu_rows], sum[cpu_rows];
    for (int k = 0; k < s; k++)
      for (i32 l = 0; l < rows_here; l++) old[k][l] = to[k][first + l];
    for (int k = 0; k < s; k++) {
      for (i32 l = 0; l < rows_here; l++) sum[l] = from[k][first + l];
      for (int j = 0; j < s; j++) {
        double b = B[j * s + k];
        for (i32 l = 0; l < rows_here; l++) sum[l] -= old[j][l] * b;
      }
      for (i32 l = 0; l < rows_here; l++) to[k][first + l] = sum[l];
    }
  }
};

/// With less than half of the directions independent a basis is poor, and no progress says that it is too poor.
struct Independent {
  static constexpr double progress = 0.25;  // of (r,r)
  Get rr, rr_before, kept, target, bound;
  int s;
  SORDINO_HD int test() const {
    if (!(rr <= bound)) return blew_up;
    if (rr <= target) return met;
    return kept == 0 || (2 * kept < s && rr > progress * rr_before) ? broke_down : proceed;
  }
  SORDINO_HD double value() const { return rr; }
};

struct Cbcg final : Method {
  static constexpr const char *name = "cbcg", *matrix = "spd";
  static constexpr const char* summary =
      "Chebyshev-basis communication-avoiding CG: s iterations at once, two exposed reductions for them";
  static constexpr bool replicated = false, any_preconditioner = true;
  static constexpr bool stays = false;  // so many kinds of commands would make a kernel that is slow in all of them
  static constexpr Factors complex = Factors::of_words;
  explicit Cbcg(const Problem& problem);
  using kernels = decltype(joined(cg::Cg::kernels{}, gram::Kernels{}, spectrum::Kernels{},
                                  KernelList<Kernel<Begin>, Kernel<Next>, Kernel<First>, Kernel<Step>, Kernel<Directions>,
                                             Kernel<Nothing, Independent>>{}));

  std::optional<Recovery::Kind> fall_back() override;
  void fit(int iterations) override;
  void forget() override { take(fallen_ = 0); }
  std::string remark() const override;

 private:
  struct Names {
    Vec r, z[3];
    std::vector<Vec> S, AS, Q, AQ;
    Scal eta, rr, rr_before;
  };
  static Names names(const Problem& k);
  Way way(const Problem& k, Names names) const;
  static void record_basis(const Problem& k, const Names& names);
  void take(std::size_t way) { static_cast<Way&>(*this) = ways_[taken_ = way]; }

  gram::Batches batches_;
  std::vector<Way> ways_;   // from the s that is asked for down, and cg at last
  std::size_t fallen_ = 0;  // the first that has not led to nothing in this solve
  std::size_t taken_ = 0;   // that or, where few iterations are left, one of smaller s
};

}  // namespace sordino::cbcg
