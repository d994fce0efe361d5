// What NCCL has brought lies in inboxes: a kernel puts rows and flags where commands look for them. A message that a void
// command sent says nothing new, and changes nothing.
#pragma once
#include <cuda_runtime_api.h>

#include "sordino/runtime/cuda/wire.hpp"

namespace sordino::cuda {

/// A vector's rows that one peer sends, and the flag behind them.
struct Arrival {
  const double* rows = nullptr;
  const u32* flag = nullptr;
  double* to = nullptr;
  u32* to_flag = nullptr;
  i32 count = 0;
};

struct ArrivalArgs {
  struct OfVector {
    const Arrival* arrivals = nullptr;  // [peers]
    i32 peers = 0;
    u32 epoch = 0;  // that is to come
  };
  OfVector vector[most_puts];
  i32 vectors = 0;
  Pulse* engine = nullptr;
  i32 rank = 0;
  u32 beat = 0;  // a sign of life
};

/// Loads the kernel on the current device.
void prepare_arrivals();
/// Asynchronous. most_peers and most_rows: of any of the vectors.
void launch_arrivals(const ArrivalArgs& args, i32 most_peers, i32 most_rows, cudaStream_t stream);

}  // namespace sordino::cuda
