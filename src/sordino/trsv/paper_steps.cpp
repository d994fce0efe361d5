#include "sordino/trsv/paper_steps.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "sordino/trsv/task_times.hpp"

namespace sordino::trsv::paper {
namespace {

using TimesOfWorkers = std::priority_queue<double, std::vector<double>, std::greater<>>;

/// A device's memory, whose bandwidth is given away as it is asked for, slice of time by slice of time.
class Memory {
 public:
  /// Of which no more than `most_bytes` are asked for in all.
  Memory(double bandwidth, double most_bytes)
      : slice_(std::max(least_slice, most_bytes / bandwidth / most_slices)), most_(bandwidth * slice_) {}

  /// When so many bytes are there that are asked for now, and take `seconds` where nobody else asks.
  double read(double now, double bytes, double seconds) {
    const double pace = bytes * slice_ / std::max(seconds, slice_);
    i64 k = std::max(i64(now / slice_), first_open_);
    for (double left = bytes;; k++) {
      double& given = given_[k];
      const double some = std::min({left, pace, most_ - given});
      given += some;
      left -= some;
      if (left <= 0) break;
    }
    while (is_full(first_open_)) given_.erase(first_open_++);
    return std::max(now + seconds, double(k) * slice_);
  }

 private:
  bool is_full(i64 k) const {
    const auto found = given_.find(k);
    return found != given_.end() && found->second >= (1 - 1e-12) * most_;
  }
  static constexpr double least_slice = 2e-6, most_slices = 1e5;
  double slice_, most_;                         // seconds, bytes
  std::unordered_map<i64, double> given_ = {};  // bytes of slices that some are asked of
  i64 first_open_ = 0;                          // all slices before are full
};

struct Device {
  Memory memory;
  std::vector<double> sums;  // [block rows] when the rank's sum is there
  i64 awaited = 0;           // sums of others that are yet to come
  TimesOfWorkers free = {};  // when workers are, of those that have been busy
  std::size_t next = 0;      // of the rank's block columns
  double has_x = 0;          // of this block column
};

class Walk {
 public:
  Walk(const Pattern& pattern, const Layout& layout, const Machine& machine, i64 value_bytes, const StepTimes& times)
      : p_(pattern),
        l_(layout),
        machine_(machine),
        own_(task_times(machine, Direction::forward)),
        t_(times),
        value_bytes_(double(value_bytes)),
        workers_(std::size_t(std::max(1, own_.workers * 5 / 4))) {
    for (const Part& part : layout.parts)
      devices_.push_back({.memory = Memory(own_.bandwidth, value_bytes_ * double(pattern.values())),
                          .sums = std::vector<double>(std::size_t(pattern.count()), 0),
                          .awaited = std::ranges::count(part.row_mask, 0)});
  }

  StepPrediction run() {
    for (i32 K = 0; K < p_.count(); K++) {
      reduce(K);
      for (i32 place = 0; place < l_.broadcasts.size(K); place++) solve(K, place);
    }
    return result_;
  }

 private:
  Device& at(i32 rank) { return devices_[std::size_t(rank)]; }
  /// One thread has so many values.
  double reads(i32 count) const { return t_.load_s * double((count + t_.loads - 1) / t_.loads); }
  double message(i32 from, i32 to, i32 count) const { return own_.message(machine_.same_node(from, to), value_bytes_ * count); }

  /// l.21, 38 - 50: one thread sends a sum, and one of WAIT adds it up, value by value; it has looked at half of what it awaits
  /// before it sees what has come.
  void reduce(i32 I) {
    for (i32 place = l_.reductions.size(I) - 1; place > 0; place--) {
      const i32 child = l_.reductions.at(I, place), parent = l_.reductions.at(I, (place - 1) / 2);
      const double sent = at(child).sums[std::size_t(I)] + reads(p_.width(I)) + message(child, parent, p_.width(I));
      Device& d = at(parent);
      const double looks = 0.5 * t_.load_s * double(d.awaited--) / t_.wait_threads;
      add(d, I, sent + looks + reads(p_.width(I)) + t_.count_s);
    }
  }
  static void add(Device& d, i32 I, double when) { d.sums[std::size_t(I)] = std::max(d.sums[std::size_t(I)], when); }

  /// A thread block of SOLVE: l.10 - 13 where L(K, K) is, l.14 and 15 on others, and then l.17 and 18.
  void solve(i32 K, i32 place) {
    const i32 rank = l_.broadcasts.at(K, place);
    Device& d = at(rank);
    const double taken = take_worker(d) + t_.take_s;
    double there = d.sums[std::size_t(K)] + t_.count_s;
    if (place > 0) {
      const i32 parent = l_.broadcasts.at(K, (place - 1) / 2);
      there = at(parent).has_x + message(parent, rank, p_.width(K));
    }
    const double begin = std::max(taken, there);
    result_.waiting += begin - taken;
    d.has_x = begin + t_.load_s;
    if (place == 0) d.has_x = multiply(d, d.has_x, p_.width(K), p_.width(K), 0.5);
    below(d, l_.parts[std::size_t(rank)]);
  }

  /// Thread blocks begin in the columns' order (004-E11).
  double take_worker(Device& d) const {
    if (d.free.size() < workers_) return 0;
    const double begin = d.free.top();
    d.free.pop();
    return begin;
  }

  /// Threads lie along the rows, and those that are left share the columns. `part` of the values are read.
  double multiply(Device& d, double begin, i32 rows, i32 width, double part) const {
    i32 across = 1;
    while (across < rows && across < t_.threads) across *= 2;
    const i32 groups = t_.threads / across;
    return d.memory.read(begin, part * value_bytes_ * rows * width, reads((width + groups - 1) / groups)) + t_.step_s;
  }

  /// Rows of the rank's blocks below the diagonal, as many at a time as there are threads for; a block whose last row is among
  /// them is added up.
  void below(Device& d, const Part& part) {
    const std::size_t column = d.next++;
    const i32 width = p_.width(part.columns[column]);
    const i64 end = part.begin[column + 1];
    auto height = [&](i64 k) { return i64(p_.height[std::size_t(part.blocks[std::size_t(k)])]); };
    i64 rows = 0, counted = 0;
    for (i64 k = part.begin[column]; k < end; k++) rows += height(k);
    double now = d.has_x;
    i64 k = part.begin[column];
    for (i64 first = 0; first < rows; first += t_.threads) {
      const i64 last = std::min(rows, first + t_.threads);
      now = multiply(d, now, i32(last - first), width, 1);
      for (; k < end && counted + height(k) <= last; k++) {
        counted += height(k);
        add(d, p_.row[std::size_t(part.blocks[std::size_t(k)])], now);
      }
    }
    d.free.push(now);
    result_.seconds = std::max(result_.seconds, now);
  }

  const Pattern& p_;
  const Layout& l_;
  const Machine& machine_;
  const TaskTimes own_;  // of our own solves: workers, bandwidth, messages
  const StepTimes& t_;
  double value_bytes_;
  std::size_t workers_;
  std::vector<Device> devices_ = {};
  StepPrediction result_ = {};
};

}  // namespace

StepPrediction predict_steps(const Pattern& pattern, const Layout& layout, const Machine& machine, i64 value_bytes,
                             const StepTimes& times) {
  return Walk(pattern, layout, machine, value_bytes, times).run();
}

}  // namespace sordino::trsv::paper
