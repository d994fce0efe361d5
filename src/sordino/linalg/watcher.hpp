// Somebody who looks at x while a method iterates: a callback of the user's.
#pragma once
#include <functional>

#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Called on the thread of rank 0 with the iterations done, ||r|| / ||b|| of the recurrence as far as it is known (of methods
/// that test first, of the iteration before), and x [n] of the whole system, or null.
using Look = std::function<void(int iteration, double relative_residual, const double* x)>;

/// What is to be looked at, and how often. On GPUs a loop with looks is no graph, and each drains the queue. With x each moves
/// 8 B a row to rank 0, which keeps 2 n words for it, and the others 2 words a row.
struct Watch {
  int every = 0;  // iterations, rounded up to what a method takes at once; 0: nobody looks
  bool x = false;
  Look look = {};
};

/// How often a loop that takes `steps` iterations at once goes round in that many, rounded up.
inline int rounds(int iterations, int steps) { return iterations / steps + (iterations % steps > 0); }

/// (r,r) that the next step may already be reducing anew, kept where the host can see it.
struct KeepNorm {
  Get rr;
  Put seen;
  SORDINO_HD void head() { seen = rr; }
};

/// x as it is shown: S times it, or a copy where S is unset.
struct Shown {
  static constexpr const char* name = "Copy";
  In x;
  Scaling S;
  Out seen;
  SORDINO_HD void row(i32 i) { seen[i] = S[i] * x[i]; }
};

/// One rank's part of it. SPMD.
class Watcher {
 public:
  /// `S` unset, or what x is to be multiplied by before it is shown; not for replicated vectors.
  Watcher(Rank& rank, const Watch& watch, Vec x, Vec S = {});
  /// What has to trade places in a loop with looks: nothing says that rank 0 has seen the last x when the next one comes.
  void add_to(Rotation& rotation) const {
    if (seen_x_.id >= 0) rotation.vectors.push_back({seen_x_, other_x_});
  }
  /// Inside a recording: (r,r), and x if it is wanted, go to rank 0, which calls look().
  void record_look(Scal rr) const;
  /// The next looks are those of a loop that begins after so many iterations, and takes `steps` at once.
  void loop_begins(int iterations, double b_norm, int steps) {
    begun_ = iterations, looks_ = 0, b_norm_ = b_norm, stride_ = rounds(every, steps) * steps;
  }
  /// Whether somebody is to look after iteration `iteration` and the loop, which has ended there, did not come to it.
  bool is_due(int iteration) const { return iteration > begun_ + looks_ * stride_ && (iteration - begun_) % stride_ == 0; }

  const int every;

 private:
  void look(const HostView& host) const;

  Rank& s_;
  Watch watch_;
  Vec x_, S_;
  Vec seen_x_, other_x_;  // with room for all of x on rank 0; unset where x is whole already, or not wanted
  Scal seen_rr_;
  Exchange gather_;
  int begun_ = 0;
  double b_norm_ = 1;
  int stride_ = 1;  // iterations between looks
  mutable int looks_ = 0;
};

}  // namespace sordino
