// A plan carried out by threads of this process.
#pragma once
#include "sordino/trsv/host_workers.hpp"
#include "sordino/trsv/task_steps.hpp"

namespace sordino::trsv {

/// Threads, vectors and flags for solves with one factor, one after the other. Memory: a number for each row and each slot, or
/// column of a partial sum, and right-hand side; none is allocated after the first solve with the most right-hand sides.
template <class V>
class HostSolve {
 public:
  /// Factor and plan must outlive it.
  HostSolve(const Factor<V>& factor, const Plan& plan, const HostOptions& options = {});

  /// b and x [n][columns]; they may be the same. Reads the factor once. The bits are those of any number of threads and ranks.
  /// Throws Error where a task fails or nothing moves any more, with its cause; then no x is handed out.
  void solve(const V* b, V* x, i64 columns = 1, bool conjugate = false);

  int threads() const { return workers_.threads(); }
  /// For tests: called before each task is computed, by the thread that does it.
  std::function<void(i32 task)> before_task;

 private:
  const Factor<V>& factor_;
  const Plan& plan_;
  std::vector<V> x_, sums_, partials_, result_;
  HostWorkers workers_;
  std::vector<TaskSteps<V>> steps_;  // [threads]
};

}  // namespace sordino::trsv
