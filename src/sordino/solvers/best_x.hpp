// The x that a solve hands out where it does not meet its tolerance.
#pragma once
#include "sordino/solvers/linear_system.hpp"

namespace sordino {

/// The one of which a recurrence has promised the smallest residual since its loop began, which costs no product. A promise may
/// be false: where the method's often are, the one whose residual, recomputed, is the smallest of the solve is kept apart. n
/// words, 2 n apart; each call that keeps or goes back passes over two vectors. SPMD.
class BestX {
 public:
  BestX(Rank& rank, LinearSystem& system);
  /// From now on verified ones are kept apart; to be called before the first solve.
  void keep_verified_apart();
  void rehearse(Rehearsal& all);
  void rehearse_keep(Rehearsal& all);      // promise()
  void rehearse_verified(Rehearsal& all);  // verified()

  /// A solve begins with x, whose recomputed residual has this norm.
  void begin(double norm);
  /// x, of this norm, takes the place of what has been promised.
  void promise(double norm);
  bool is_promising(double norm) const;  // more than what has been promised
  /// x has this norm, recomputed: it is kept, if that is the smallest.
  void verified(double norm);
  /// x becomes the promised one, if that has the smaller residual; one product, and A x may then be of either.
  void take_promised(double& norm);
  /// x, of this norm, recomputed, becomes the best that was verified; A x is that of x, if it was before.
  void take_best(double& norm);
  /// Whether the recurrence went on into rounding (down to underflow, in the end): what it met there says nothing of A. The
  /// norm is that of the promised x.
  bool has_lost_touch(double norm) const;

  const Vec promised_x;
  const Scal promised_rr;

 private:
  Rank& s_;
  LinearSystem& system_;
  Vec verified_x_;
  double least_ = 0;  // norm of the verified one
  Recorded keep_promised_, swap_, keep_verified_, go_back_;
};

}  // namespace sordino
