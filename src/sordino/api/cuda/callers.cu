#include <algorithm>
#include <cmath>
#include <map>

#include "sordino/api/cuda/callers.hpp"
#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {
namespace {

constexpr int threads = 256, most_blocks = 512, warp = 32;

struct Part {
  double largest, squares;
  i64 first_bad;  // n: none
};

__device__ Part joined(const Part& a, const Part& b) {
  return {fmax(a.largest, b.largest), a.squares + b.squares, min(a.first_bad, b.first_bad)};
}

__device__ Part over_warp(Part p) {
  for (int step = warp / 2; step > 0; step /= 2)
    p = joined(p, {__shfl_down_sync(~0u, p.largest, step), __shfl_down_sync(~0u, p.squares, step),
                   __shfl_down_sync(~0u, p.first_bad, step)});
  return p;
}

// One part a block; the host joins them.
__global__ void __launch_bounds__(threads) look_at(const double* v, i64 n, Part* parts) {
  Part mine{0, 0, n};
  for (i64 i = i64(blockIdx.x) * threads + threadIdx.x; i < n; i += i64(gridDim.x) * threads) {
    double value = v[i];
    if (isfinite(value))
      mine = joined(mine, {fabs(value), value * value, n});
    else
      mine.first_bad = min(mine.first_bad, i);
  }
  __shared__ Part of_warps[threads / warp];
  mine = over_warp(mine);
  if (threadIdx.x % warp == 0) of_warps[threadIdx.x / warp] = mine;
  __syncthreads();
  if (threadIdx.x >= warp) return;
  mine = over_warp(threadIdx.x < threads / warp ? of_warps[threadIdx.x] : Part{0, 0, n});
  if (threadIdx.x == 0) parts[blockIdx.x] = mine;
}

}  // namespace

// The legacy default stream waits for others when something is put into it, so an event is.
void wait_for(const void* pointer, void* stream) {
  Place place = place_of(pointer);
  if (place.memory != Memory::device) return;
  OnDevice on(place.device);
  if (stream) return call("cudaStreamSynchronize", cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
  cudaEvent_t end = nullptr;
  call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
  cudaError_t recorded = cudaEventRecord(end, cudaStreamLegacy), waited = cudaEventSynchronize(end);
  cudaEventDestroy(end);
  call("cudaEventRecord", recorded);
  call("cudaEventSynchronize", waited);
}

void copy(void* to, const void* from, std::size_t bytes) {
  Place target = place_of(to);
  OnDevice on(target.memory == Memory::device ? target.device : place_of(from).device);
  start_copying(to, from, bytes, cudaStreamPerThread);
  call("cudaStreamSynchronize", cudaStreamSynchronize(cudaStreamPerThread));
}

struct Looker::State {
  Part* parts = nullptr;                // [most_blocks] pinned, written by whichever GPU looks
  std::map<int, cudaStream_t> streams;  // by device

  ~State() {
    for (auto [device, stream] : streams) cudaStreamDestroy(stream);
    cudaFreeHost(parts);
  }
  /// With the device current: on no other GPU is anything made.
  cudaStream_t prepare(int device) {
    if (!parts)
      call("cudaHostAlloc", cudaHostAlloc(&parts, most_blocks * sizeof(Part), cudaHostAllocPortable | cudaHostAllocMapped));
    cudaStream_t& s = streams[device];
    if (!s) call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
  }
};

Looker::Looker() : state_(std::make_unique<State>()) {}
Looker::~Looker() = default;

Looker::Seen Looker::look(const double* v, i64 n) {
  if (n == 0) return {};
  int device = place_of(v).device;
  OnDevice on(device);
  cudaStream_t stream = state_->prepare(device);
  int blocks = int(std::min<i64>((n + threads - 1) / threads, most_blocks));
  look_at<<<blocks, threads, 0, stream>>>(v, n, state_->parts);
  call("a kernel that looks at a vector", cudaGetLastError());
  call("cudaStreamSynchronize", cudaStreamSynchronize(stream));
  Part all{0, 0, n};
  for (int k = 0; k < blocks; k++) {
    const Part& p = state_->parts[k];
    all = {std::max(all.largest, p.largest), all.squares + p.squares, std::min(all.first_bad, p.first_bad)};
  }
  return {all.largest, all.squares, all.first_bad < n ? all.first_bad : -1};
}

}  // namespace sordino::cuda
