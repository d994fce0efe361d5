// Who acts next: whoever is earliest on the virtual clock, or, under an adversary, anybody who can.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sordino/runtime/model/noise.hpp"

namespace sordino::model {

/// A party that acts: a rank's program, its device, one of its queues, a letter that arrives, or its processor after a host
/// task.
using Who = u32;
inline constexpr int lanes = 64;  // parties of a rank
enum Lane : int { program_lane = 0, device_lane = 1, mail_lane = 2, processor_lane = 3, first_queue_lane = 4 };
inline Who who(int rank, int lane) { return Who(rank) * lanes + Who(lane); }
inline int rank_of(Who w) { return int(w / lanes); }
inline int lane_of(Who w) { return int(w % lanes); }

struct Event {
  double due;  // seconds; under an adversary, its choice
  Who party;
};

class Agenda {
 public:
  /// seed 0: in the order of time, ties by party. Else an adversary decides, reproducibly. It gives parties random priorities
  /// and draws new ones now and then: often with some seeds, so that all orders mix, seldom with others, so that one rank runs
  /// far ahead while another starves.
  explicit Agenda(u64 seed) : seed_(seed), patience_(int(mix(seed) % 12)) {}

  bool in_time_order() const { return seed_ == 0; }
  bool empty() const { return heap_.empty(); }
  void clear() { heap_.clear(); }

  void add(Who party, double time) {
    heap_.push_back({in_time_order() ? time : priority(party), party});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  /// For who only looks: under an adversary, behind all others, who could else starve.
  void add_behind(Who party, double time) {
    constexpr double least = 1;  // no priority is as large
    heap_.push_back({in_time_order() ? time : least + double(drawn_++), party});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Event next() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event e = heap_.back();
    heap_.pop_back();
    return e;
  }
  /// Whether a party that has come to `time` may act on others before anyone here.
  bool may_go_on(double time) const { return heap_.empty() || (in_time_order() && time <= heap_.front().due); }

 private:
  static bool later(const Event& a, const Event& b) { return a.due != b.due ? a.due > b.due : a.party > b.party; }
  double priority(Who party) { return fraction(mix(seed_ ^ mix((u64(party) << 32) ^ (drawn_++ >> patience_)))); }

  u64 seed_;
  int patience_;  // log2 of the draws between new priorities
  u64 drawn_ = 0;
  std::vector<Event> heap_;
};

}  // namespace sordino::model
