#include "sordino/hmatrix/cuda/block_team.cuh"
#include "sordino/hmatrix/cuda/device_leaves.hpp"

namespace sordino::hmatrix {
namespace {

constexpr int threads = 128;

template <class V>
__global__ void __launch_bounds__(threads) pack_leaves(const LeafTask* tasks, const LeafResult* results, const i64* places,
                                                       const V* space, V* to) {
  __shared__ Slots<threads> slots;
  const i64 place = places[blockIdx.x];
  if (place < 0) return;
  const LeafTask task = tasks[blockIdx.x];
  pack_leaf(BlockTeam<threads>(slots), task, results[blockIdx.x].rank, space + task.space, to + place);
}

}  // namespace

template <class V>
void start_packing(const LeafTask* tasks, const LeafResult* results, const i64* places, i64 count, const V* space, V* to,
                   cudaStream_t stream) {
  pack_leaves<<<unsigned(count), threads, 0, stream>>>(tasks, results, places, space, to);
  cuda::call("pack_leaves", cudaGetLastError());
}

template void start_packing(const LeafTask*, const LeafResult*, const i64*, i64, const double*, double*, cudaStream_t);
template void start_packing(const LeafTask*, const LeafResult*, const i64*, i64, const Number*, Number*, cudaStream_t);

}  // namespace sordino::hmatrix
