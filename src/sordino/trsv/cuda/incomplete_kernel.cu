// Compiled without fused multiply-add (CMakeLists.txt): a row's sum has the bits of the host.
#include "sordino/trsv/cuda/incomplete_kernel.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/memory.cuh"
#include "sordino/trsv/cuda/level_kernel.hpp"

namespace sordino::trsv {
namespace {

using cuda::TaskWaits;

/// A lane's part of a warp, for WayWalk.
class DeviceWarp {
 public:
  template <class T>
  class Each {
   public:
    template <class F>
    __device__ void each(const F& f) {
      f(value_, lane());
    }
    template <class F>
    __device__ bool all(const F& f) {
      return __all_sync(~0u, f(value_));
    }
    template <class F>
    __device__ double from(i32 other, const F& f) const {
      return __shfl_sync(~0u, f(value_), other);
    }

   private:
    T value_{};
  };

  __device__ explicit DeviceWarp(const TaskWaits& waits) : waits_(waits) {}

  __device__ u32 take(u32* counter) const { return lane() == 0 ? atomicAdd(counter, 1u) : 0; }
  __device__ u32 known(u32 taken) const { return __shfl_sync(~0u, taken, 0); }
  template <class F>
  __device__ void first(const F& f) const {
    if (lane() == 0) f();
  }
  __device__ u64 poll(const u64* word) const { return cuda::load_relaxed(word); }
  __device__ void tell(u64* word, u64 value) const { cuda::store_relaxed(word, value); }

  __device__ void begin_wait() { memory_ = 1; }
  /// Looks now and then, for what it looks at is far away.
  __device__ bool go_on(u32 polls) {
    if ((polls & 0x3ff) != 0) return true;
    if (lane() == 0) memory_ = cuda::go_on_waiting(&waits_, memory_, polls, cuda::Wait::own_blocks, 0, i32(blockIdx.x), 0u, 0u);
    memory_ = __shfl_sync(~0u, memory_, 0);
    return memory_ != 0;
  }

 private:
  static __device__ i32 lane() { return i32(threadIdx.x) % 32; }
  const TaskWaits& waits_;
  u64 memory_ = 1;
};

/// Where a wait is lost, go_on() has told the others, and the host: what comes after it is void.
__global__ void __launch_bounds__(level_threads, level_blocks_at_once) walk(const __grid_constant__ WayPass pass,
                                                                            const __grid_constant__ TaskWaits waits) {
  DeviceWarp warp(waits);
  WayWalk<DeviceWarp>(pass, warp).run();
}

}  // namespace

int way_blocks_at_once() {
  int at_once = 0, multiprocessors = 0, device = 0;
  cuda::call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
             cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, walk, level_threads, 0));
  cuda::call("cudaGetDevice", cudaGetDevice(&device));
  cuda::call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return std::min(at_once, level_blocks_at_once) * multiprocessors;
}

void launch_way(const WayPass& pass, const TaskWaits& waits, CUstream_st* stream, int blocks) {
  if (pass.own.count == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(std::min(blocks, (pass.own.count + level_warps - 1) / level_warps)));
  config.blockDim = dim3(level_threads);
  config.stream = stream;
  cuda::call("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, walk, pass, waits));
}

}  // namespace sordino::trsv
