// Device code: sums of a thread block and of a grid, and how they are sent to all ranks. Commands and teams share it.
#pragma once
#include "sordino/runtime/cuda/memory.cuh"

namespace sordino::cuda {

/// Lane 0 gets the warp's sum, in a fixed order.
__device__ inline double add_lanes(double x) {
#pragma unroll
  for (int o = 16; o; o >>= 1) x += __shfl_down_sync(~0u, x, o);
  return x;
}
template <int W>
__device__ inline double add_warps(const double (&warp_sum)[W]) {
  double sum = 0;
#pragma unroll
  for (int w = 0; w < W; w++) sum += warp_sum[w];
  return sum;
}

/// Thread k < K gets the block's k-th sum: threads of a warp, then W warps, in a fixed order.
template <int K, int W>
__device__ inline double block_sum(const double (&v)[K], double (&warp_sum)[most_values][W]) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
  for (int k = 0; k < K; k++) {
    double x = add_lanes(v[k]);
    if (lane == 0) warp_sum[k][warp] = x;
  }
  __syncthreads();
  return threadIdx.x < K ? add_warps(warp_sum[threadIdx.x]) : 0;
}

/// Where the blocks of a grid hand in their sums.
struct Partials {
  Packet* packets;  // [values][stride], one a block
  i32 stride;       // blocks that there is place for
  i32 channel;      // named in a fault
};

/// Adds the sums of so many blocks, of this grid or of one before it, which all run or have run, thread by thread: several
/// packets on their way at once, added in the order of the blocks. False: the wait was lost.
template <int K, int threads, class Waiter>
__device__ inline bool collect(const Waiter& a, const Partials& at, int blocks, double (&sum)[K], u32 epoch) {
  constexpr int J = K >= 4 ? 1 : 4 / K;
#pragma unroll
  for (int k = 0; k < K; k++) sum[k] = 0;
#pragma unroll 1
  for (int first = threadIdx.x; first < blocks; first += J * threads) {
    double v[J][K];
    bool there = spin(a, Wait::own_blocks, at.channel, first, flag_word(epoch, false), [&](u32&) {
      bool all = true;
#pragma unroll
      for (int j = 0; j < J; j++)
#pragma unroll
        for (int k = 0; k < K; k++) {
          int b = first + j * threads;
          Packet p = load_packet(at.packets + k * at.stride + min(b, blocks - 1));
          all &= is_epoch(u32(p.tag), epoch);
          v[j][k] = b < blocks ? p.value : 0;
        }
      return all;
    });
    if (!there) return false;
#pragma unroll
    for (int j = 0; j < J; j++)
#pragma unroll
      for (int k = 0; k < K; k++) sum[k] += v[j][k];
  }
  return true;
}

/// Every block hands in its sums; in the last block of the grid thread k < K gets the grid's k-th sum, and all get true. No
/// ticket, no fence: the tags say what has arrived. All threads of W warps a block. If `everyone` collects, thread k < K of
/// every block gets it, or all of the block get false if the wait is lost; the packets of the next sum then have other places.
/// If they are `handed_on` nobody of this grid collects, and all get false.
template <int K, bool everyone = false, int W, class Waiter>
__device__ inline bool grid_sum(const Waiter& a, const Partials& at, u32 epoch, double (&sums)[K],
                                double (&warp_sum)[most_values][W], double& sum, bool handed_on = false) {
  int t = threadIdx.x, blocks = gridDim.x;
  sum = block_sum<K>(sums, warp_sum);
  if (blocks == 1) return true;
  if (t < K) store_packet(at.packets + t * at.stride + blockIdx.x, {sum, flag_word(epoch, false)});
  if (!everyone && (handed_on || blockIdx.x != blocks - 1)) return false;
  bool lost = !collect<K, W * 32>(a, at, blocks, sums, epoch);
  if (__syncthreads_or(lost)) return false;
  sum = block_sum<K>(sums, warp_sum);
  return true;
}

/// Where the n-th packet goes, of `values` for each target: `to(target)` says where a target's begin. Null: there are fewer.
template <class To>
__device__ inline Packet* place_of_packet(int values, i32 targets, int n, To to) {
  return n < targets * values ? to(n / values) + n % values : nullptr;
}

/// A warp, whose lane k < `values` has the k-th sum, sends them to all targets. `place`: of the lane's first packet, which can
/// be looked up before the sums are there.
template <class To>
__device__ __forceinline__ void push_sums(int values, i32 targets, double sum, u32 word, Packet* place, To to) {
  const int lane = threadIdx.x & 31;
#pragma unroll 1
  for (int n = lane; n - lane < targets * values; n += 32, place = place_of_packet(values, targets, n, to)) {
    double v = __shfl_sync(~0u, sum, n % values);
    if (place) store_packet(place, {v, word});
  }
}

}  // namespace sordino::cuda
