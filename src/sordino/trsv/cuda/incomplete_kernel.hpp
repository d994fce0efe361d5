// The kernel of an incomplete factor's passes.
#pragma once
#include "sordino/runtime/cuda/task_waits.hpp"
#include "sordino/trsv/incomplete_walk.hpp"

namespace sordino::trsv {

/// How many thread blocks of the kernel the current device has room for, up to level_blocks_at_once a multiprocessor. Loads the
/// kernel, so that nothing is loaded while a launch is captured.
int way_blocks_at_once();

/// Asynchronous, on the current device. Any number of blocks will do; no more come than there are slices for. Throws Error
/// where CUDA refuses.
void launch_way(const WayPass& pass, const cuda::TaskWaits& waits, CUstream_st* stream, int blocks);

}  // namespace sordino::trsv
