// What keeps a device task from running once its loop has ended: commands look by themselves, a caller's kernels do not.
#pragma once
#include <cuda_runtime_api.h>

#include "sordino/runtime/cuda/wire.hpp"

namespace sordino::cuda {

struct GateArgs {
  const Control* control = nullptr;
  cudaGraphConditionalHandle go = 0;  // of the node behind the gate
  i32 command = 0, commands = 0;
  i32 iteration = 0;        // counted from the chunk's first
  bool in_order = false;    // what was issued before it has ended, and nothing else: whatever halts, it is behind that
  Stamp* stamps = nullptr;  // [n_stamps] of a timed replay
  i32 n_stamps = 0;
};
enum class TaskNote { begin, end };

/// Loads the kernels on the current device.
void prepare_gate();
/// Asynchronous; into a stream that is being captured.
void launch_gate(const GateArgs& args, cudaStream_t stream);
/// Asynchronous: the time, as the task's, unless the loop has ended.
void launch_note(const GateArgs& args, TaskNote what, cudaStream_t stream);

}  // namespace sordino::cuda
