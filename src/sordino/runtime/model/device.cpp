#include "sordino/runtime/model/device.hpp"

#include <algorithm>

namespace sordino::model {

void Device::advance(double now) {
  for (auto& t : active_) t.left = std::max(0.0, t.left - (now - now_) / double(active_.size()));
  now_ = now;
}

void Device::refill() {
  while (!waiting_.empty() && int(active_.size()) < workers_) {
    active_.push_back(waiting_.front());
    waiting_.pop_front();
  }
  next_ = std::numeric_limits<double>::infinity();
  for (auto& t : active_) next_ = std::min(next_, now_ + t.left * double(active_.size()));
}

void Device::add(int queue, double seconds, double now) {
  advance(now);
  waiting_.push_back({queue, seconds});
  refill();
}

int Device::take() {
  auto first = std::min_element(active_.begin(), active_.end(), [](const Task& a, const Task& b) { return a.left < b.left; });
  int queue = first->queue;
  double end = next_;
  advance(end);
  active_.erase(first);
  refill();
  return queue;
}

void Device::clear() {
  active_.clear();
  waiting_.clear();
  next_ = std::numeric_limits<double>::infinity();
}

}  // namespace sordino::model
