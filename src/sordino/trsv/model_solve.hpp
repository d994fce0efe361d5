// A plan carried out on a described machine: ranks with memory of their own, workers, messages that take their time, and a
// virtual clock. Whoever waits for what never comes is found at once.
#pragma once
#include "sordino/runtime/machine.hpp"
#include "sordino/trsv/task_steps.hpp"

namespace sordino::trsv {

struct ModelOptions {
  int workers = 264;             // of a rank
  double task_seconds = 2e-6;    // that a task takes beside its bytes
  double lone_bandwidth = 60e9;  // B/s of a worker that has the memory to itself
  u64 seed = 0;                  // else each task and each message takes up to ten times as long, at random
};

struct ModelReport {
  double seconds = 0;    // from the first task's begin to the last one's end
  double computing = 0;  // of all workers
  double waiting = 0;    // of all workers, with a task in hand
  i64 messages = 0, message_bytes = 0;
};

/// What tasks of a plan cost, and what happens to numbers while time goes by; nothing, where only time is asked for.
class ModelledTasks {
 public:
  virtual ~ModelledTasks() = default;
  virtual i64 bytes(i32 task) const = 0;          // that it reads
  virtual i64 message_bytes(i32 task) const = 0;  // that another rank which needs it is sent
  virtual void compute(i32 /*task*/) {}
  virtual void deliver(i32 /*task*/, i32 /*rank*/) {}
};

/// Any plan. Throws Error where it hangs.
ModelReport model_solve(const Plan& plan, ModelledTasks& tasks, const Machine& machine, const ModelOptions& options);

/// The time of a solve with values of so many bytes; nothing is computed.
ModelReport model_solve(const Blocks& blocks, const Plan& plan, i64 value_bytes, const Machine& machine,
                        const ModelOptions& options = {});
/// The same, computed: b and x [n][columns]. A rank sees what it has computed and what was sent to it, and NaN else. Throws
/// Error where the plan hangs.
template <class V>
ModelReport model_solve(const Factor<V>& factor, const Plan& plan, const Machine& machine, const ModelOptions& options,
                        const V* b, V* x, i64 columns = 1, bool conjugate = false);

}  // namespace sordino::trsv
