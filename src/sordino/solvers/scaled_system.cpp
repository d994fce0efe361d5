#include "sordino/solvers/scaled_system.hpp"

#include <algorithm>
#include <cmath>

namespace sordino {
namespace {
constexpr double far = 1e12;  // norm over target from which no residual falls within twice the iterations done
constexpr double near = 8;    // iterations left, from which on a look follows each: residuals swing
}  // namespace

ScaledSystem::ScaledSystem(Rank& rank, const Operator& A, const SymmetricScaling& by, Vec b, Vec x, Vec Ax)
    : s_(rank), by_(by), rr_(rank.scalar("(b-Ax,b-Ax) unscaled")), rr_scaled_(rank.scalar("(b-Ax,b-Ax) scaled")) {
  scale_b_ = s_.record([&] { s_.run(ScaleRows{.S = by.S, .v = b}); });
  x_to_y_ = s_.record([&] { s_.run(UnscaleRows{.S = by.S, .v = x}); });
  y_to_x_ = s_.record([&] { s_.run(ScaleRows{.S = by.S, .v = x}); });
  residual_ = record_residual(A, b, x, Ax);
  look_ = record_residual(A, b, x, A.result(s_, "A x, looked at"));
}

Recorded ScaledSystem::record_residual(const Operator& A, Vec b, Vec x, Vec Ax) {
  return s_.record([&] {
    s_.run(Nothing{}, push(x));
    A.apply(s_, x, Ax);
    s_.run(ResidualsOfBoth{.b = b, .Ax = Ax, .S = by_.S}, start(rr_, rr_scaled_));
    s_.wait(rr_);
  });
}

void ScaledSystem::take(Recorded& residual) {
  s_.replay(residual);
  norm_ = std::sqrt(s_.get(rr_));
  const double scaled = std::sqrt(s_.get(rr_scaled_));
  if (scaled > 0 && std::isfinite(norm_ / scaled)) ratio_ = norm_ / scaled;
}

void ScaledSystem::rehearse(Rehearsal& all) {
  for (Recorded* recorded : {&scale_b_, &x_to_y_, &y_to_x_, &residual_}) all.replay(*recorded);
}

void Approach::begin(int iteration, double norm, double target) {
  begun_ = seen_ = iteration;
  first_ = norm_ = norm;
  target_ = target;
  next_ = 1;
}

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

}  // namespace sordino
