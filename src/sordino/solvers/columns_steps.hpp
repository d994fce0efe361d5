// What a solve of C columns at once does beside the lines of its method: products of each column, who judges them, and which x
// are kept. All of it column by column: nothing of one gets into another.
#pragma once
#include "sordino/runtime/columns.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/solvers/bicgstab.hpp"

namespace sordino::columns {

/// What `ended` is of a column that iterates; else the verdict, or no_part.
constexpr double under_way = 0, no_part = -1;

/// Of commands of a single thread block, which hold many scalars and share a multiprocessor with nobody.
constexpr int few_blocks = 2;

/// Products of K pairs. Those of a column that has ended count as zero: ratio() then makes alpha, zeta and beta zero, so that
/// its x and r stay what they are while the others go on.
template <int C, int K>
struct DotsOf {
  static constexpr const char* name = "Dots";
  using V = Several<double, C>;
  static constexpr int resident_blocks = bicgstab::resident<V>;
  static constexpr double flops = 2 * C * K;
  Gets<C> ended;
  InOf<V> a, b, c, d;  // (a,b), (c,d)
  unsigned taken = 0;
  SORDINO_HD void head() {
    taken = 0;
    for (int i = 0; i < C; i++) taken |= unsigned(ended.of[i] == under_way) << i;
  }
  SORDINO_HD auto row(i32 i) {
    if constexpr (K == 1)
      return summed(of_those(a[i] * b[i]));
    else
      return summed(of_those(a[i] * b[i]), of_those(c[i] * d[i]));
  }

 private:
  SORDINO_HD V of_those(V product) const {
    for (int i = 0; i < C; i++)
      if (!(taken >> i & 1)) product.at[i] = 0;
    return product;
  }
};

template <int C>
struct ResidualOf {  // ||b - A x||^2, without storing it
  static constexpr const char* name = "TrueResidual";
  static constexpr double flops = 3 * C;
  static constexpr int resident_blocks = bicgstab::resident<Several<double, C>>;
  InOf<Several<double, C>> b, Ax;
  SORDINO_HD auto row(i32 i) {
    const Several<double, C> e = b[i] - Ax[i];
    return summed(e * e);
  }
};

/// (r,r) of the columns that are under way, and -1 of the others, in `log`, [rounds][C].
template <int C>
struct Log {
  static constexpr int resident_blocks = few_blocks;
  Gets<C> rr, ended;
  Get round;
  Foreign<double, Access::update> log;
  SORDINO_HD void row(i32) {
    for (int c = 0; c < C; c++) log[i32(round) * C + c] = ended.of[c] == under_way ? double(rr.of[c]) : -1;
  }
  Cost cost() const { return {8.0 * C, 0}; }
};

/// The exit test of each column, ConvergedBi. What was said of a column stands until it begins anew, and the step that follows
/// has zeta = 0, so that whatever the divisors were its p stays finite.
template <int C>
struct Judge {
  static constexpr int resident_blocks = few_blocks;
  Gets<C> rr, rho_new, zeta, shadow, target, bound, ended;
  Get round;
  Puts<C> verdict, next_zeta;  // to ended and zeta
  Put next_round;
  SORDINO_HD void head() {
    next_round = round + 1;
    for (int c = 0; c < C; c++) {
      double said = ended.of[c];
      if (said == under_way)
        said = ConvergedBi{rr.of[c], rho_new.of[c], zeta.of[c], shadow.of[c], target.of[c], bound.of[c]}.test();
      verdict.of[c] = said;
      next_zeta.of[c] = said == under_way ? double(zeta.of[c]) : 0;
    }
  }
};

/// Exit test: no column is under way. Its value is the largest (r,r) / (b,b).
template <int C>
struct AllEnded {
  Gets<C> ended, rr, bb;
  SORDINO_HD int test() const {
    for (const Get& e : ended.of)
      if (e == under_way) return proceed;
    return met;
  }
  SORDINO_HD double value() const {
    double most = 0;
    for (int c = 0; c < C; c++) {
      const double relative = bb.of[c] > 0 ? rr.of[c] / bb.of[c] : 0;
      if (relative > most) most = relative;
    }
    return most;
  }
};

/// Which columns under way have the smallest (r,r) so far, and that: alone, one that has ended has left the loop before.
template <int C>
struct Lower {
  static constexpr const char* name = "LowerBest";
  static constexpr int resident_blocks = few_blocks;
  Gets<C> rr, best_rr, ended;
  Puts<C> lowest, chosen;
  SORDINO_HD void head() {
    for (int c = 0; c < C; c++) {
      const bool lower = ended.of[c] == under_way && rr.of[c] < best_rr.of[c];
      chosen.of[c] = lower;
      lowest.of[c] = lower ? rr.of[c] : best_rr.of[c];
    }
  }
};

/// to = from, of the chosen columns.
template <int C>
struct KeepChosen {
  static constexpr const char* name = "KeepBest";
  static constexpr int resident_blocks = bicgstab::resident<Several<double, C>>;
  Gets<C> chosen;
  InOf<Several<double, C>> from;
  InOutOf<Several<double, C>> to;
  SORDINO_HD void row(i32 i) {
    for (int c = 0; c < C; c++)
      if (chosen.of[c] != 0) to[i].at[c] = from[i].at[c];
  }
};

template <int C>
struct SwapChosen {
  static constexpr const char* name = "Swap";
  static constexpr int resident_blocks = bicgstab::resident<Several<double, C>>;
  Gets<C> chosen;
  InOutOf<Several<double, C>> a, b;
  SORDINO_HD void row(i32 i) {
    for (int c = 0; c < C; c++) {
      if (chosen.of[c] == 0) continue;
      const double kept = a[i].at[c];
      a[i].at[c] = b[i].at[c];
      b[i].at[c] = kept;
    }
  }
};

template <int C, class V = Several<double, C>>
using KernelsOf =
    KernelList<Kernel<bicgstab::BeginOf<V>>, Kernel<bicgstab::HalfStepOf<V>>, Kernel<bicgstab::StepOf<V>>,
               Kernel<bicgstab::DirectionOf<V>, AllEnded<C>>, Kernel<DotsOf<C, 1>>, Kernel<DotsOf<C, 2>>, Kernel<ResidualOf<C>>,
               Kernel<Log<C>>, Kernel<Judge<C>>, Kernel<Lower<C>>, Kernel<KeepChosen<C>>, Kernel<SwapChosen<C>>>;
using Kernels = decltype(joined(KernelsOf<2>{}, KernelsOf<4>{}, KernelsOf<8>{}));

}  // namespace sordino::columns
