// The last kernel of a chunk: reports to the host, and counts up what the chunk's commands took as constant.
#pragma once
#include <cuda_runtime_api.h>

#include "sordino/runtime/cuda/wire.hpp"

namespace sordino::cuda {

struct MarkArgs {
  Upload* device = nullptr;
  Window* window = nullptr;
  Pulse* engine = nullptr;
  const double* history = nullptr;  // rings, on the device and in host memory
  double* history_copy = nullptr;
  const u32* increments = nullptr;  // [n_epochs]; null: commands that were not captured count by themselves
  i32 n_epochs = 0, n_scalars = 0;
  u32 history_mask = 0, first_test = 0, tests = 0;
  i32 iterations = 0;                    // to count up
  bool repeats = false;                  // the chunk is the body of a WHILE node,
  cudaGraphConditionalHandle again = 0;  //   which goes on until the loop has ended
  i32 rank = 0;
};

void launch_mark(const MarkArgs& args, cudaStream_t stream);

/// Loads the kernel on the current device, and enables the commands that Rank itself records.
void prepare_kernels();
/// The latter alone.
void enable_common();
void enable_fixed_order();

}  // namespace sordino::cuda
