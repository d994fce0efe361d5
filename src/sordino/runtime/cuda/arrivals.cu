#include "sordino/runtime/cuda/arrivals.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/memory.cuh"

namespace sordino::cuda {
namespace {

constexpr int most_copy_blocks = 64;  // of one peer's rows

/// A block copies from one peer; all that it reads was complete before this kernel began.
__global__ void __launch_bounds__(block_threads) arrivals(const __grid_constant__ ArrivalArgs a) {
  const ArrivalArgs::OfVector& v = a.vector[blockIdx.z];
  if (blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0 && threadIdx.x == 0) a.engine->beats[a.rank].device = a.beat;
  if (i32(blockIdx.y) >= v.peers) return;
  Arrival p = v.arrivals[blockIdx.y];
  u32 word = *p.flag;
  if (!is_epoch(word, v.epoch)) return;
  for (i32 i = blockIdx.x * block_threads + threadIdx.x; i < p.count; i += gridDim.x * block_threads) p.to[i] = p.rows[i];
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.to_flag = word;
}

}  // namespace

void prepare_arrivals() {
  cudaFuncAttributes attributes;
  call("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, arrivals));
}

void launch_arrivals(const ArrivalArgs& args, i32 most_peers, i32 most_rows, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(std::clamp((most_rows + block_threads - 1) / block_threads, 1, most_copy_blocks)),
                        unsigned(most_peers), unsigned(args.vectors));
  config.blockDim = dim3(block_threads);
  config.stream = stream;
  call("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, arrivals, args));
}

}  // namespace sordino::cuda
