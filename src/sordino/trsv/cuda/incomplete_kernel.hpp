// The kernel of an incomplete factor's passes.
#pragma once
#include "sordino/runtime/cuda/task_waits.hpp"
#include "sordino/trsv/incomplete_walk.hpp"

namespace sordino::trsv {

/// Asynchronous, on the current device. `blocks`: any number of thread blocks will do; 0: as many as it has room for, up to
/// level_blocks_at_once a multiprocessor. Throws Error where CUDA refuses.
void launch_way(const WayPass& pass, const cuda::TaskWaits& waits, CUstream_st* stream, int blocks = 0);

}  // namespace sordino::trsv
