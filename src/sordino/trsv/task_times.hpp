// What a task of a triangular solve takes on a described machine: the numbers by which the virtual clock of model_solve.hpp
// goes.
#pragma once
#include "sordino/runtime/machine.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// How often one goes through the memory from a task's end until what it has computed is seen, one after the other: the number
/// is stored, then its flag, the flag is looked at, the number loaded. That it is four is a fit.
inline constexpr int trips_of_flag = 4;

/// A worker lets a task's values come, which share the device's bandwidth with those of all workers that do so at that time;
/// then, when what the task needs is there as well, it computes for step(). Of values that come in several rounds, each further
/// one is asked for when the one before it has been used, round_s later. Who waits for a number goes through the memory several
/// times, and each time behind the values that are under way (trip_s, trips_of_flag). Latencies are those of all passes of a
/// solve.
struct TaskTimes {
  int workers = 1;                             // of a rank
  double bandwidth = 1, worker_bandwidth = 1;  // B/s of all that let values come, and of one of them at most
  double work = 1;                             // bytes that a byte of values counts for
  double step_s = 0, round_s = 0, small_block_s = 0, flag_s = 0;
  double message_s = 0, far_message_s = 0;  // to another rank, and to one of another node
  double number_s = 0, far_number_s = 0;    // more for each byte of one right-hand side

  /// Once through a memory that nobody else asks.
  double trip_s() const { return flag_s / trips_of_flag; }
  /// Small blocks of subtrees are dealt to four warps, and wait for one another along the longest chain.
  double step(const Blocks& blocks, const Task& task) const;
  double message(bool near, double bytes) const {
    return near ? message_s + number_s * bytes : far_message_s + far_number_s * bytes;
  }
};

/// Most right-hand sides that a GPU takes in one pass over the factor; what is left over takes passes of 4, 2 and 1. Where
/// there are wide passes, of 32 or 16, one that is not filled takes what is left of more than eight.
inline constexpr i64 most_columns_of_solve_pass = 8, most_columns_of_wide_solve_pass = 32;
/// Whether there are: of doubles, on the way forward.
inline bool has_wide_solve_passes(Direction direction, i64 value_bytes) {
  return direction == Direction::forward && value_bytes == i64(sizeof(double));
}
/// How often a solve with so many right-hand sides reads the factor, and for how many more than the first of each time it makes
/// room, in passes that are not wide and in wide ones.
struct SolvePasses {
  i64 count = 0, further = 0, wide_further = 0;
};
SolvePasses solve_passes(i64 columns, bool has_wide);

/// How often, one after the other, a task goes through the memory for what it adds up, beside the first time: on the way back a
/// thread has so many parts' sums, or rows of x, on their way at once, and others wait their turn.
i64 further_trips(const Blocks& blocks, Direction direction, const Task& task);

/// Of `columns` right-hand sides at once, by Machine::triangular; of values of so many bytes, where wide passes count. Throws
/// bad_argument for no columns.
TaskTimes task_times(const Machine& machine, Direction direction, i64 columns = 1, i64 value_bytes = 0);

}  // namespace sordino::trsv
