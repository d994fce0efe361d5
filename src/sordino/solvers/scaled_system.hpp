// The driver's part where what is iterated on is S A S y = S b, with x = S y (SymmetricScaling), and what is promised is b - A
// x.
#pragma once
#include <atomic>

#include "sordino/precond/preconditioner.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"
#include "sordino/runtime/rehearsal.hpp"

namespace sordino {

struct ScaleRows {  // v = S v
  In S;
  InOut v;
  static constexpr double flops = 1;
  SORDINO_HD void row(i32 i) { v[i] *= S[i]; }
};

struct UnscaleRows {  // v = S^-1 v
  In S;
  InOut v;
  static constexpr double flops = 1;
  SORDINO_HD void row(i32 i) { v[i] /= S[i]; }
};

struct ResidualsOfBoth {  // ||b - A x||^2 and ||S (b - A x)||^2, of S b and S A S y
  In b;
  Whole Ax;
  In S;
  static constexpr double flops = 6;
  SORDINO_HD Sums<2> row(i32 i) {
    double e = b[i] - Ax[i], r = e / S[i];
    return {r * r, e * e};
  }
};

using ScaledSystemKernels = KernelList<Kernel<ScaleRows>, Kernel<UnscaleRows>, Kernel<ResidualsOfBoth>>;

/// Recordings that go from one system to the other, and the norms of both. Each costs a pass over two or three vectors, and
/// residual() and look() a product. Memory: a vector of look()'s own. Made once; nothing is recorded later.
class ScaledSystem {
 public:
  /// b and x are the driver's: of either system, as what was replayed last has left them. `by` must outlive this.
  ScaledSystem(Rank& rank, const Operator& A, const SymmetricScaling& by, Vec b, Vec x, Vec Ax);

  void scale_b() { s_.replay(scale_b_); }  // b to S b
  void x_to_y() { s_.replay(x_to_y_); }
  void y_to_x() { s_.replay(y_to_x_); }
  /// Takes both norms of y as it stands, and leaves S A S y in Ax.
  void residual() { take(residual_); }
  /// The same between two stretches of a loop, which may need Ax.
  void look() { take(look_); }

  double norm() const { return norm_; }    // ||b - A x||, as last taken
  double ratio() const { return ratio_; }  // and how much larger it is than ||S (b - A x)||. From any thread
  /// A norm of S (b - A x) that is no larger than this says that ||b - A x|| is no larger than `norm`.
  double sufficient(double norm) const { return norm * by_.least; }
  /// Whether the ratio may change while a loop goes on, by more than a hundredth.
  bool ratio_varies() const { return by_.most > 1.01 * by_.least; }

  void rehearse(Rehearsal& all);
  void rehearse_look(Rehearsal& all) { all.replay(look_); }

 private:
  Recorded record_residual(const Operator& A, Vec b, Vec x, Vec Ax);
  void take(Recorded& residual);

  Rank& s_;
  const SymmetricScaling& by_;
  Scal rr_, rr_scaled_;
  Recorded scale_b_, x_to_y_, y_to_x_, residual_, look_;
  double norm_ = 0;
  std::atomic<double> ratio_{1};
};

/// When to look at a residual that the loop does not know: after ever more iterations while the tolerance is far, and after a
/// third of those that are left at the best rate seen, so that a solve ends in the iteration that meets it, or soon after.
class Approach {
 public:
  void begin(int iteration, double norm, double target);
  void seen(int iteration, double norm);
  int next() const { return next_; }  // iterations until then
  double target() const { return target_; }

 private:
  double rate(int since, double from) const;  // of the logarithm, an iteration

  int begun_ = 0, seen_ = 0, next_ = 1;
  double first_ = 0, norm_ = 0, target_ = 0;
};

}  // namespace sordino
