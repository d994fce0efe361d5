// A plan carried out by threads of this process.
#pragma once
#include <atomic>
#include <memory>

#include "sordino/runtime/threads.hpp"
#include "sordino/trsv/task_steps.hpp"

namespace sordino::trsv {

struct HostOptions {
  int threads = 0;      // in all; at least one for each of the plan's ranks. 0: as many as there are cores
  double timeout = 60;  // seconds in which no task ends, after which a wait gives up; 0: never
};

/// Threads, vectors and flags for solves with one factor, one after the other. Memory: a number for each row and
/// each slot, or column of a partial sum, and right-hand side; none is allocated after the first solve with the most right-hand
/// sides.
template <class V>
class HostSolve {
 public:
  /// Factor and plan must outlive it.
  HostSolve(const Factor<V>& factor, const Plan& plan, const HostOptions& options = {});
  ~HostSolve();

  /// b and x [n][columns]; they may be the same. Reads the factor once. The bits are those of any number of threads and ranks.
  /// Throws Error where a task fails or nothing moves any more, with its cause; then no x is handed out.
  void solve(const V* b, V* x, i64 columns = 1, bool conjugate = false);

  int threads() const { return threads_; }
  /// For tests: called before each task is computed, by the thread that does it.
  std::function<void(i32 task)> before_task;

 private:
  void work(int thread);
  void await(i32 task, i32 need);
  void give_up(std::exception_ptr cause);

  const Factor<V>& factor_;
  const Plan& plan_;
  HostOptions options_;
  int threads_;
  std::vector<V> x_, sums_, partials_, result_;
  SolveVectors<V> vectors_;
  std::vector<TaskSteps<V>> steps_;              // [threads]
  std::unique_ptr<std::atomic<u32>[]> done_;     // [tasks] the solve in which it was done last
  std::unique_ptr<std::atomic<i64>[]> tickets_;  // [ranks] tasks that have been taken
  std::atomic<u64> ended_{0};                    // tasks, of all solves
  std::atomic<bool> failed_{false};
  std::exception_ptr cause_;
  std::mutex cause_lock_;
  u32 solve_ = 0;
  std::unique_ptr<ThreadTeam> team_;  // last: its threads use all of the above
};

}  // namespace sordino::trsv
