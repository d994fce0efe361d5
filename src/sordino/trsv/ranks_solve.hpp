// A plan carried out by the ranks of an engine, which may be threads of several processes.
//
// Each rank has vectors of its own. What another rank reads of a task is one message, and messages between two ranks come in
// the order of the tasks: so who waits for a task takes what comes from its rank until it is there. That cannot hang for the
// reason that plan.hpp gives: sending does not wait. Faults are the engine's: all ranks of all processes end with one sentence.
#pragma once
#include <functional>

#include "sordino/comm/communicator.hpp"
#include "sordino/trsv/rank_tasks.hpp"

namespace sordino::trsv {

/// Memory: that of each rank's tasks (rank_tasks.hpp), and a number for each row and right-hand side.
template <class V>
class RanksSolve {
 public:
  /// The plan is for as many ranks as the engine has. Engine, factor and plan must outlive it; every process has the whole
  /// factor.
  RanksSolve(Engine& engine, const Factor<V>& factor, const Plan& plan);
  /// Of rows by levels; the plan's direction has been prepared.
  RanksSolve(Engine& engine, const LevelFactor<V>& factor, const Plan& plan);
  ~RanksSolve();

  /// Collective over the processes, which pass the same b, [n][columns]; x, perhaps the same place, arrives at all of them with
  /// the bits of any other engine of the host. Sends what readers need, once to each, and in the end x to all. Throws Error
  /// with the first cause, the same in all processes, where a task fails, a process is lost, or nothing moves for so long.
  void solve(const V* b, V* x, i64 columns = 1, bool conjugate = false);

  /// For tests: called before each task is computed, by the thread that does it.
  std::function<void(i32 task)> before_task;

 private:
  class OfRank;
  template <class F>
  RanksSolve(Engine& engine, const F& factor, const Plan& plan, i64 rows);

  Engine& engine_;
  const Plan& plan_;
  i64 rows_;  // of the triangle
  std::vector<V> room_;
  std::vector<std::unique_ptr<OfRank>> ranks_;  // of this process
};

}  // namespace sordino::trsv
