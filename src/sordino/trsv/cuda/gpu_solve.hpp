// A plan carried out by GPUs of this process: one kernel a rank, which takes the rank's tasks, and memory that all of them
// reach.
#pragma once
#include <memory>
#include <vector>

#include "sordino/trsv/factor.hpp"
#include "sordino/trsv/in_stream.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

struct GpuOptions {
  std::vector<int> devices = {};    // one a rank; empty: the first ones
  int most_columns = 1;             // of b that a pass takes at once: 1, 2, 4 or 8; by blocks also 16 or 32, where that is done
  i64 long_task_bytes = 176 << 10;  // of values that a task of a pass of 16 or 32 columns has, but for those waited for soon
  int blocks = 0;                   // of a rank's kernel; 0: as many as its GPU has room for
  double timeout = 10;              // seconds that a wait on a GPU may take; 0: forever
};

/// When a thread block took a task, had the numbers and the values that it needs, had multiplied, and had stored its results:
/// nanoseconds on the device's clock. 0: a task of this kind has no such time.
struct TaskTrace {
  u64 taken = 0, began = 0, came = 0, multiplied = 0, ended = 0;
};

/// What a rank's GPU holds for its part of a factor and of plans.
struct GpuMemory {
  i64 values = 0, tables = 0, vectors = 0;  // bytes
};

template <class V>
class GpuSolve {
 public:
  /// The plans, each of which may be null, are for the factor's blocks, with the same ranks and owners; the factor's values are
  /// copied. Throws Error, `unsupported` with a sentence where this machine has too few GPUs, or too little memory.
  GpuSolve(const Factor<V>& factor, const Plan* forward, const Plan* backward, const GpuOptions& options = {});
  /// With invented values (invented.hpp), which never were on the host: for times of large structures.
  GpuSolve(const Blocks& blocks, const Plan* forward, const Plan* backward, const GpuOptions& options = {});
  ~GpuSolve();

  /// b and x [n][columns], each on the host or on some GPU; they may be the same. The same bits in every solve, on any number
  /// of GPUs. With one rank, on whose GPU both are, passes go into the caller's stream, and are waited for only where `in` says
  /// so; else work of that stream is waited for first, and the solve always. Returns whether x is finite, or true where that is
  /// not waited for. Throws Error where a rank fails or waits in vain, here or in what nobody has waited for; what is to be
  /// done then is to make another one.
  bool solve(Direction direction, const V* b, V* x, i64 columns = 1, bool conjugate = false, const InStream& in = {});
  /// Until all solves have ended; throws as solve().
  void settle();
  bool has_failed() const;  // another one is to be made
  /// The factor's values anew, after Factor::update().
  void update(const Factor<V>& factor);

  /// Seconds of each of so many solves of the same b, from the first rank's begin to the last one's end, without copies from or
  /// to the host.
  std::vector<double> time(Direction direction, const V* b, i64 columns, int repeats);
  /// One solve of b [n], with the times of each of the plan's tasks; only those of one rank can be compared.
  std::vector<TaskTrace> trace(Direction direction, const V* b);
  GpuMemory memory(int rank) const;
  int blocks() const;  // of a rank's kernel, for passes with the most columns: no more than tasks, unless options say so
  /// Columns that a pass takes at once: up to GpuOptions::most_columns, but more than 8 only of doubles, on the way forward and
  /// on GPUs that multiply doubles by tensor cores; and as many as there is shared memory for.
  int most_columns(Direction direction) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sordino::trsv
