// Device code: kernels that compute the leaves of a batch, for any entries. A kernel of a potential needs one line more for
// them (bem/cuda/laplace.cu, helmholtz.cu).
#pragma once
#include "sordino/hmatrix/cuda/block_team.cuh"
#include "sordino/hmatrix/cuda/device_leaves.hpp"

namespace sordino::hmatrix {

/// A leaf for each block of threads: the largest come first.
template <int threads, class Entries, class V>
__global__ void __launch_bounds__(threads) compute_leaves(Entries entries, LeafLaunch<V> launch) {
  __shared__ Slots<threads> slots;
  const BlockTeam<threads> team(slots);
  if (__syncthreads_or(*launch.stop)) return;
  const i64 number = launch.first + blockIdx.x;
  const LeafTask task = launch.tasks[number];
  const LeafResult found = compute_leaf(team, entries, task, launch.options, launch.space + task.space);
  if (threadIdx.x != 0) return;
  launch.results[number] = found;
  if (found.rank >= -1) atomicAdd(&launch.watch->done, static_cast<unsigned long long>(task.rows + task.columns));
  atomicAdd(&launch.watch->beats, 1);
}

/// Entries: `Value`, and entry(i, j) of the matrix in the tree's order. What they point to lies on the device.
template <class Entries>
class LeafKernels : public DeviceLeaves<typename Entries::Value> {
 public:
  using V = typename Entries::Value;
  using DeviceLeaves<V>::DeviceLeaves;

 protected:
  Entries entries_ = {};

 private:
  void compute(const LeafLaunch<V>& launch, bool by_many, cudaStream_t stream) final {
    const unsigned blocks = unsigned(launch.end - launch.first);
    if (by_many)
      compute_leaves<256><<<blocks, 256, 0, stream>>>(entries_, launch);
    else
      compute_leaves<64><<<blocks, 64, 0, stream>>>(entries_, launch);
    cuda::call("compute_leaves", cudaGetLastError());
  }
};

}  // namespace sordino::hmatrix
