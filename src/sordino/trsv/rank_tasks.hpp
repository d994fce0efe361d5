// What one rank of several processes computes of a plan, in memory of its own, and which of its numbers others read.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "sordino/trsv/level_factor.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

template <class V>
class RankTasks {
 public:
  using Visit = std::function<void(V* numbers, i64 count)>;
  virtual ~RankTasks() = default;

  /// A new solve: b [n][columns], and as much room that the ranks of a process share and nobody reads.
  virtual void begin(const V* b, V* room, i64 columns, bool conjugate) = 0;
  virtual void compute(i32 task) = 0;
  /// Where the numbers are that other ranks may read of a task, which this rank has computed or is sent.
  virtual void each_result(i32 task, const Visit& visit) = 0;
  /// x of what this rank computes.
  virtual std::vector<V> own() const = 0;
  /// x [n][columns] from own() of each rank.
  virtual void collect(const std::vector<std::vector<V>>& lists, V* x) const = 0;
};

/// Factor and plan must outlive them; the plan's direction has been prepared. Memory: a number for each row, and each slot or
/// partial sum, and right-hand side.
template <class V>
std::unique_ptr<RankTasks<V>> make_rank_tasks(const Factor<V>& factor, const Plan& plan, int rank);
/// Memory: a number for each row and right-hand side.
template <class V>
std::unique_ptr<RankTasks<V>> make_rank_tasks(const LevelFactor<V>& factor, const Plan& plan, int rank);

}  // namespace sordino::trsv
