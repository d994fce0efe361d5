// Threads of this process that carry out a plan: each takes its rank's next task by ticket, waits for those that it needs, and
// computes it.
#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include "sordino/runtime/threads.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

struct HostOptions {
  int threads = 0;      // in all; at least one for each of the plan's ranks. 0: as many as there are cores
  double timeout = 60;  // seconds in which no task ends, after which a wait gives up; 0: never
};

class HostWorkers {
 public:
  /// The plan must outlive it.
  HostWorkers(const Plan& plan, const HostOptions& options);
  ~HostWorkers();

  /// Calls compute(task, thread) for each task of the plan, once those that it needs have been computed, whose writes it sees.
  /// Throws Error where a task fails or nothing moves any more, with its cause. Nothing is allocated.
  void run(const std::function<void(i32 task, int thread)>& compute);
  int threads() const { return threads_; }

 private:
  void work(int thread, const std::function<void(i32, int)>& compute);
  void await(i32 task, i32 need);
  void give_up(std::exception_ptr cause);

  const Plan& plan_;
  double timeout_;
  int threads_;
  std::unique_ptr<std::atomic<u32>[]> done_;     // [tasks] the run in which it was done last
  std::unique_ptr<std::atomic<i64>[]> tickets_;  // [ranks] tasks that have been taken
  std::atomic<u64> ended_{0};                    // tasks, of all runs
  std::atomic<bool> failed_{false};
  std::exception_ptr cause_;
  std::mutex cause_lock_;
  u32 run_ = 0;
  std::unique_ptr<ThreadTeam> team_;  // last: its threads use all of the above
};

}  // namespace sordino::trsv
