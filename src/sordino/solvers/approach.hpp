// When to look at a residual whose norm a loop does not know.
#pragma once

namespace sordino {

/// After ever more iterations while the tolerance is far, and after a third of those that are left at the best rate seen, so
/// that a solve ends in the iteration that meets it, or soon after.
class Approach {
 public:
  /// A loop begins after so many iterations, with this norm of the residual.
  Approach(int iteration, double norm, double target);
  void seen(int iteration, double norm);
  int next() const { return next_; }  // iterations until the next look

 private:
  double rate(int since, double from) const;  // of the logarithm, an iteration

  int begun_, seen_, next_ = 1;
  double first_, norm_, target_;
};

}  // namespace sordino
