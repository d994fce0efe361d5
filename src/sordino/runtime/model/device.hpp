// One device that several queues compute on: task groups under way share its bandwidth evenly (processor sharing).
#pragma once
#include <deque>
#include <limits>
#include <vector>

namespace sordino::model {

class Device {
 public:
  /// At most `workers` task groups at a time; the others begin in the order in which they came.
  explicit Device(int workers) : workers_(workers) {}

  /// A queue begins a task group that takes `seconds` on an idle device.
  void add(int queue, double seconds, double now);
  /// When the first one ends, if none is added before; infinity if the device is idle.
  double next() const { return next_; }
  bool idle() const { return active_.empty(); }
  /// Removes the one that ends at next(), and returns its queue.
  int take();
  void clear();

 private:
  struct Task {
    int queue;
    double left;  // seconds on an idle device
  };
  void advance(double now);
  void refill();

  int workers_;
  std::vector<Task> active_;
  std::deque<Task> waiting_;
  double now_ = 0;
  double next_ = std::numeric_limits<double>::infinity();
};

}  // namespace sordino::model
