// An operator that is a function of the host: one call computes all rows, wherever the vectors lie.
#pragma once
#include <functional>
#include <string>

#include "sordino/linalg/operator.hpp"
#include "sordino/linalg/partition.hpp"

namespace sordino {

/// y = F x on whole vectors, x [n] and y [n], of complex ones [n][2]. Called on the thread of rank 0, never twice at the same
/// time. What it throws fails all ranks.
using HostFunction = std::function<void(const double* x, double* y)>;

/// Row i of the result, as rank 0 has sent it: behind no own rows on the other ranks, so that row i is word i everywhere.
struct ScatteredRows {
  static constexpr int lanes = 1;
  static constexpr bool turns = true;
  static constexpr const char* name = "Scatter";
  Foreign<const double, Access::ghost> from;
  Out y;
  i64 rows;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(from);
    visit(y);
  }
  SORDINO_HD double sum(i32 i, int, int) const { return from[i]; }
  SORDINO_HD void store(i32 i, double value) const { y[i] = value; }
  Cost cost() const { return {8.0 * double(rows), 0}; }
};

/// Two commands an application: a host task, before which rank 0 gathers x, and the rows that come back. Each moves 8 B a row
/// that rank 0 does not own. Results go to two vectors by turns: who has gathered x knows that all have read the result before
/// the last. Memory: 2 n words on rank 0, twice its rows on every other one, and n more words for each operand. On GPUs the
/// queues drain and a loop is no graph.
class HostOperator final : public Operator {
 public:
  /// Collective. Vectors live on a space of its own, rows, of `words` each, dealt out as `partition` says.
  HostOperator(Rank& rank, const Partition& partition, std::string name, HostFunction function, int words = 1);
  /// The same on another operator's space of that partition: a preconditioner.
  HostOperator(Rank& rank, const Partition& partition, int space, std::string name, HostFunction function, int words = 1);

  void apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue = {}) const override;
  int space() const override { return space_; }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space_, &gather_); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space_); }

 private:
  std::string name_;
  HostFunction function_;
  int space_;
  Exchange gather_, scatter_;
  Vec whole_[2];                  // used by turns, since nothing need stand between two products
  mutable unsigned applied_ = 0;  // commands recorded
};

}  // namespace sordino
