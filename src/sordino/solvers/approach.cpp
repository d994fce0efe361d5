#include "sordino/solvers/approach.hpp"

#include <algorithm>
#include <cmath>

namespace sordino {
namespace {
constexpr double far = 1e12;  // norm over target from which no residual falls within twice the iterations done
constexpr double near = 8;    // iterations left, from which on a look follows each: residuals swing
}  // namespace

Approach::Approach(int iteration, double norm, double target)
    : begun_(iteration), seen_(iteration), first_(norm), norm_(norm), target_(target) {}

double Approach::rate(int since, double from) const { return seen_ > since ? std::log(from / norm_) / (seen_ - since) : 0; }

void Approach::seen(int iteration, double norm) {
  const int before = seen_;
  const double from = norm_;
  seen_ = iteration, norm_ = norm;
  const double left = std::log(norm_ / target_) / std::max(rate(before, from), rate(begun_, first_));
  const int done = seen_ - begun_, most = std::max(1, norm_ > far * target_ ? 2 * done : done / 2);
  if (left > 0 && left < 3.0 * most)
    next_ = left < near ? 1 : int(left / 3);
  else
    next_ = most;  // too long a way, or nothing was gained, or a NaN was met
}

bool Plateau::seen(int iterations, const std::vector<double>& rr) {
  for (double value : rr) now_ = std::min(now_, value);
  done_ += iterations;
  if (done_ < end_) return false;
  const bool level = now_ > 0.25 * before_;
  before_ = std::min(before_, now_);
  now_ = HUGE_VAL;
  end_ = done_ + std::max(least, done_ / 2);
  return level;
}

}  // namespace sordino
