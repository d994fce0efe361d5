// What a replay did, counted afterwards: the device only says after how many iterations, and in which command, it ended.
// The counts are those that the CPU engines make while they go.
#pragma once
#include "sordino/runtime/rank.hpp"

namespace sordino::cuda {

class Tally {
 public:
  Tally(const Rank& rank, const Recording& recording, const std::vector<int>& vector_map, const std::vector<int>& scalar_map);

  /// Iterations after which rotations and predicates repeat.
  int cycle() const { return cycle_; }
  /// Exit tests in the first n iterations.
  i64 tests(i64 iterations) const;
  /// Exit tests of a run that ended in `exit_command` of iteration `iterations - 1`.
  i64 tests_until(i64 iterations, int exit_command) const;
  /// Books n whole iterations; the last of them ends in `exit_command`, unless that is negative.
  void book(Rank& rank, i64 iterations, int exit_command) const;
  /// Throws if a command of the first n iterations reads a scalar that never got a value.
  void check_scalars(const Rank& rank, i64 iterations) const;

 private:
  struct Effect {
    Ledger counts;
    std::vector<u32> pushed, seen;       // [physical vector]
    std::vector<u32> started, finished;  // [slot]
    i64 tests = 0;
    void add(const Effect& e, i64 times);
  };
  void command(Effect& e, int iteration, int command, bool exits) const;
  void iterations(Effect& e, i64 first, i64 last) const;
  enum class Use { finished, read, put };
  /// Calls visit(physical scalar, use, command) in the order of one iteration.
  template <class Visit>
  void scalars(int iteration, const Visit& visit) const;

  const Recording& rec_;
  const Rank& rank_;
  int cycle_ = 1;
  std::vector<std::vector<int>> vector_maps_, scalar_maps_;  // [turn]
  Effect one_cycle_;
};

}  // namespace sordino::cuda
