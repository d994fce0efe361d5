// b, x and b - A x of a solve, on their way from the caller's system to the one that a method's loop has, and back.
//
// Of a singular A, b is projected onto what A can reach, and x is kept orthogonal to the nullspace. Where A is S A S
// (SymmetricScaling), the loop has S b and y = S^-1 x; the norms that are told are of b - A x all the same.
#pragma once
#include <atomic>
#include <map>

#include "sordino/linalg/nullspace.hpp"
#include "sordino/precond/preconditioner.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rehearsal.hpp"

namespace sordino {

struct TrueResidual {  // ||b - A x||^2, without storing it
  In b;
  Whole Ax;
  static constexpr double flops = 3;
  SORDINO_HD Sums<1> row(i32 i) {
    double e = b[i] - Ax[i];
    return {e * e};
  }
};

struct ResidualsOfBoth {  // ||b - A x||^2, ||S (b - A x)||^2 and ||diag(A) x||^2, of S b and S A S y, whose diagonal is 1
  In b;
  Whole Ax;
  In S, y;
  static constexpr double flops = 9;
  SORDINO_HD Sums<3> row(i32 i) {
    double e = b[i] - Ax[i], r = e / S[i], dx = y[i] / S[i];
    return {r * r, e * e, dx * dx};
  }
};

struct NormsOfBoth {  // ||S^-1 r||^2 and ||r||^2
  In r, S;
  static constexpr double flops = 5;
  SORDINO_HD Sums<2> row(i32 i) {
    double e = r[i] / S[i];
    return {e * e, r[i] * r[i]};
  }
};

struct Zero {
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = 0; }
};

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

using LinearSystemKernels = KernelList<Kernel<TrueResidual>, Kernel<ResidualsOfBoth>, Kernel<NormsOfBoth>, Kernel<Zero>,
                                       Kernel<ScaleRows>, Kernel<UnscaleRows>, Kernel<Deflate>>;

/// One rank's part of it. SPMD. A residual costs a product and a pass over b and A x; the rest passes over one to three
/// vectors.
class LinearSystem {
 public:
  /// `scaling`: how A was scaled, or null; it must outlive this.
  LinearSystem(Rank& rank, const Operator& A, const SymmetricScaling* scaling, const Nullspace& nullspace);
  void rehearse(Rehearsal& all);

  /// b [rows], whose norm and part outside the range of A it takes.
  void take_b(const double* b);
  double b_norm() const { return b_norm_; }              // of the part of b that A can reach
  double outside_norm() const { return outside_norm_; }  // and of the rest, which was taken away
  void start_from(const double* x0);                     // [rows], or null: zero
  /// ||b - A x||; leaves the loop's A x in Ax.
  double residual();
  /// The same of an x whose residual has been taken before: where there is a nullspace, x keeps its bits.
  double residual_again();
  /// By how much, about, the caller's residual of the x of the last residual() may differ from what that one said: where A is
  /// scaled, its entries and x = S y are rounded. A residual in another direction than what is known: both add as squares.
  double unsure() const { return unsure_; }
  /// x is the caller's afterwards: x0, if nothing has been done with it.
  void hand_out(const double* x0, bool iterated);

  bool is_scaled() const { return scaling_; }
  /// Whether ||b - A x|| may change against what the loop knows while it goes on, by more than a hundredth.
  bool norms_differ() const { return scaling_ && scaling_->most > 1.01 * scaling_->least; }
  /// The norm, for the caller, of a residual r that a loop has at hand. `record_look` of the same r has
  /// recorded it, outside of a rehearsal, which would forget the reduction.
  double look(Vec r);
  void record_look(Vec r);
  void rehearse_look(Rehearsal& all, Vec r);
  void rehearse_residual(Rehearsal& all);
  /// How much larger ||b - A x|| is than what the loop knows, as last taken: 1, where nothing is scaled. From any thread.
  double ratio() const { return ratio_; }
  double in_loop(double norm) const { return norm / ratio_; }
  /// What the loop knows is no larger than this only where ||b - A x|| is no larger than `norm`.
  double sufficient(double norm) const { return scaling_ ? norm * scaling_->least : norm; }

  const Projector* null() const { return null_.get(); }  // null: A is not singular

  Vec b, x, Ax;

 private:
  void record_scaling();
  void make_projectors(const Nullspace& nullspace);
  void project_b();
  struct Squares {
    Scal of_caller, in_loop;
  };
  double take(Recorded& norms, const Squares& squares);

  Rank& s_;
  const SymmetricScaling* scaling_;
  Scal bb_, dx2_;
  Squares rr_, seen_;  // of b - A x, and of a residual at hand
  std::unique_ptr<Projector> null_, null_of_transpose_;
  double b_norm_ = 0, outside_norm_ = 0, unsure_ = 0;
  std::atomic<double> ratio_{1};
  Recorded zero_x_, norm_of_b_, residual_, project_x_, project_b_, scale_b_, x_to_y_, y_to_x_;
  std::map<int, Recorded> looks_;  // by the names of residuals: each way of a method has one
};

}  // namespace sordino
