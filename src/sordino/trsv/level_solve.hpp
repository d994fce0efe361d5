// Substitution by a plan of levels: on threads of this process, and on a described machine. Same bits everywhere: a row's sum
// has one order (level_rows.hpp), and products are rounded before they are added.
#pragma once
#include "sordino/trsv/host_workers.hpp"
#include "sordino/trsv/level_factor.hpp"
#include "sordino/trsv/level_plan.hpp"
#include "sordino/trsv/model_solve.hpp"

namespace sordino::trsv {

/// Threads and vectors for substitutions with one factor, one after the other. Memory: a number for each row and right-hand
/// side; none is allocated after the first solve with the most right-hand sides.
template <class V>
class LevelHostSolve {
 public:
  /// Factor and plan must outlive it; the plan's direction has been prepared.
  LevelHostSolve(const LevelFactor<V>& factor, const Plan& plan, const HostOptions& options = {});

  /// As HostSolve::solve().
  void solve(const V* b, V* x, i64 columns = 1, bool conjugate = false);

  int threads() const { return workers_.threads(); }
  /// For tests: called before each task is computed, by the thread that does it.
  std::function<void(i32 task)> before_task;

 private:
  const LevelFactor<V>& factor_;
  const Plan& plan_;
  std::vector<V> x_;
  HostWorkers workers_;
};

/// As model_solve() of a plan of blocks.
template <class V>
ModelReport model_solve(const LevelFactor<V>& factor, const Plan& plan, const Machine& machine, const ModelOptions& options,
                        const V* b, V* x, i64 columns = 1, bool conjugate = false);

}  // namespace sordino::trsv
