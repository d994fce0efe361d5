// Copies that are under way at the same time and share a bandwidth evenly, on a virtual clock.
#pragma once
#include <algorithm>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::trsv {

/// Each of n copies goes on at the bandwidth over n, but no faster than a lone one does. Cost of a call: log n.
class SharedBandwidth {
 public:
  SharedBandwidth(double bandwidth, double lone) : bandwidth_(bandwidth), lone_(lone) {}

  void start(double now, double bytes, i32 who) {
    go_on(now);
    ends_.push({-(done_ + bytes), -who});
    sum_of_ends_ += done_ + bytes;
  }
  /// When the first of them ends; infinity if there is none.
  double next() const {
    return ends_.empty() ? std::numeric_limits<double>::infinity() : now_ + std::max(0.0, -ends_.top().first - done_) / pace();
  }
  /// Whose copy that is; it ends now. Of those that end together the one with the smallest number.
  i32 end(double now) {
    now_ = now;
    done_ = -ends_.top().first;
    sum_of_ends_ -= done_;
    const i32 who = -ends_.top().second;
    ends_.pop();
    return who;
  }
  /// How much longer the bandwidth takes for what is under way than each of them would alone: for so long something small that
  /// is asked for now waits behind them.
  double queue(double now) const {
    if (ends_.empty()) return 0;
    const double n = double(ends_.size()), left = sum_of_ends_ - n * (done_ + (now - now_) * pace());
    return std::max(0.0, left) * std::max(0.0, 1 / bandwidth_ - 1 / (n * lone_));
  }

 private:
  double pace() const { return std::min(lone_, bandwidth_ / double(ends_.size())); }
  void go_on(double now) {
    if (!ends_.empty()) done_ += (now - now_) * pace();
    now_ = now;
  }

  double bandwidth_, lone_;
  double now_ = 0, done_ = 0;  // bytes that each copy would have taken that is under way since the beginning
  double sum_of_ends_ = 0;     // of what `done_` is when each of them ends
  std::priority_queue<std::pair<double, i32>> ends_;  // minus what `done_` is then, and minus who
};

}  // namespace sordino::trsv
