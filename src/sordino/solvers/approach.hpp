// When to look at a residual: one whose norm a loop does not know, or one that no longer falls.
#pragma once
#include <cmath>
#include <vector>

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

/// Whether a residual no longer falls: whether its least norm has not halved in the last stretch, which is of 200 iterations,
/// or of a third of all where that is more. A slow solve looks the same: what tells them apart is the residual of x.
class Plateau {
 public:
  explicit Plateau(double rr) : before_(rr) {}
  int next() const { return end_ - done_; }  // iterations until it can say
  bool seen(int iterations, const std::vector<double>& rr);

 private:
  static constexpr int least = 200;

  int done_ = 0, end_ = least;
  double before_, now_ = HUGE_VAL;
};

}  // namespace sordino
