// A plan carried out on a described machine: ranks with memory of their own, workers, messages that take their time, and a
// virtual clock. Whoever waits for what never comes is found at once.
#pragma once
#include "sordino/trsv/task_steps.hpp"
#include "sordino/trsv/task_times.hpp"

namespace sordino::trsv {

struct ModelOptions {
  TaskTimes times = {};
  int ranks_per_node = 0;  // 0: all ranks share one
  u64 seed = 0;            // else each copy, step, flag and message takes up to ten times as long, at random
  bool traced = false;     // whether ModelReport::tasks are kept
};

/// Seconds from the first task's begin on.
struct TaskSeconds {
  double taken = 0;    // by a worker, which lets its values come
  double ready = 0;    // they are there
  double begin = 0;    // and what it needs is, too
  double end = 0;      // its result is there
  i32 last_need = -1;  // whose result came last, where it needs any
};

struct ModelReport {
  double seconds = 0;    // from the first task's begin to the last one's end
  double computing = 0;  // of all workers: steps, without the copies of values before them
  double waiting = 0;    // of all workers, for what a task needs, with its values at hand
  i64 messages = 0, message_bytes = 0;
  std::vector<TaskSeconds> tasks;  // [tasks] if they are traced
};

/// As a machine has it, for so many right-hand sides, of values of so many bytes, where that counts (task_times()).
ModelOptions model_options(const Machine& machine, Direction direction, i64 columns = 1, u64 seed = 0, i64 value_bytes = 0);

/// What tasks of a plan cost, and what happens to numbers while time goes by; nothing, where only time is asked for.
class ModelledTasks {
 public:
  virtual ~ModelledTasks() = default;
  virtual i64 bytes(i32 task) const = 0;  // that it reads,
  /// and of those so many at a time: the first ones ahead of what it needs, the others behind that.
  virtual i64 round_bytes(i32 task) const { return bytes(task); }
  virtual i64 message_bytes(i32 task) const = 0;  // that another rank which needs it is sent
  /// Seconds from its values and needs being there to its end.
  virtual double step(i32 /*task*/, const TaskTimes& times) const { return times.step_s; }
  /// Times that it goes through the memory before that, beside those of flags.
  virtual i64 trips(i32 /*task*/) const { return 0; }
  virtual void compute(i32 /*task*/) {}
  virtual void deliver(i32 /*task*/, i32 /*rank*/) {}
};

/// Any plan. Throws Error where it hangs. Cost: tasks, needs and messages times a logarithm.
ModelReport model_solve(const Plan& plan, ModelledTasks& tasks, const ModelOptions& options);

/// The time of a solve with values of so many bytes; nothing is computed.
ModelReport model_solve(const Blocks& blocks, const Plan& plan, i64 value_bytes, const ModelOptions& options);
/// The same, computed: b and x [n][columns]. A rank sees what it has computed and what was sent to it, and NaN else. Throws
/// Error where the plan hangs.
template <class V>
ModelReport model_solve(const Factor<V>& factor, const Plan& plan, const ModelOptions& options, const V* b, V* x,
                        i64 columns = 1, bool conjugate = false);

}  // namespace sordino::trsv
