// Device code: sums in the order of runtime/sum_order.hpp, so that this engine computes the bits of the CPU engines, on any
// number of ranks. A warp sums a tile; whoever completes a block adds its tiles and sends it; one thread block adds all blocks.
// Nobody waits for his own grid. The price is a launch for every synchronisation, and some of the speed of short vectors.
//
// Such kernels are compiled without fused multiply-add (-fmad=false): the CPU engines round each operation, too.
#pragma once
#include "sordino/runtime/body.hpp"
#include "sordino/runtime/cuda/phases.cuh"
#include "sordino/runtime/sum_order.hpp"

namespace sordino::cuda {

static_assert(running_sums == 32, "a warp has a thread for each running sum");

/// All threads of a warp get the sum of their values.
__device__ inline double fold_warp(double sum) {
#pragma unroll
  for (int half = 16; half; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
  return sum;
}

// --- start: tiles, then blocks ---------------------------------------------------------------------------------------------

/// The first warp to find all tiles of block b summed adds them up, one after the other, and sends the block's sums.
template <int K>
__device__ inline void send_block(const Args& a, i32 b, u32 epoch) {
  const StartArgs& r = a.start;
  int lane = threadIdx.x & 31;
  i32 first = r.tiles.of_block[b], last = r.tiles.of_block[b + 1];
  double sum[K] = {};
#pragma unroll 1
  for (i32 t = first; t < last; t += 32) {
    double tile[K];
#pragma unroll
    for (int k = 0; k < K; k++) tile[k] = t + lane < last ? __ldcg(r.tile_sums + k * r.tiles.count + t + lane) : 0;
#pragma unroll 1
    for (int l = 0; l < min(32, last - t); l++)
#pragma unroll
      for (int k = 0; k < K; k++) sum[k] += __shfl_sync(~0u, tile[k], l);
  }
  if (iteration_of(a) == a.mute_at) return;
  u32 word = flag_word(epoch, r.tells_stop && a.control->stop);
  i32 place = ((epoch & 1) * r.parts + r.place + b) * K;
#pragma unroll 1
  for (int p = lane; p < r.targets; p += 32)
#pragma unroll
    for (int k = 0; k < K; k++) store_packet(r.to[p] + place + k, {sum[k], word});
  if (lane == 0) note_started(a);
}

/// A warp computes and sums the rows of one tile.
template <class F, int K>
__device__ inline void sum_tile(F& f, const Args& a, const GroupArgs& g, i32 chunk, u32 epoch) {
  const StartArgs& r = a.start;
  int lane = threadIdx.x & 31;
  i32 nth = chunk * warps + threadIdx.x / 32;
  if (nth >= g.n_tiles) return;
  i32 tile = g.tiles[nth];
  double sum[K] = {};
#pragma unroll 1
  for (i32 i = r.tiles.rows[tile] + lane, end = r.tiles.rows[tile + 1]; i < end; i += 32) {
    auto s = f.row(i);
#pragma unroll
    for (int k = 0; k < K; k++) sum[k] += s.v[k];
    if (g.sends) send_row(a, i);
  }
#pragma unroll
  for (int k = 0; k < K; k++) sum[k] = fold_warp(sum[k]);
  i32 block = r.tiles.block[tile];
  bool last = false;
  if (lane == 0) {
#pragma unroll
    for (int k = 0; k < K; k++) r.tile_sums[k * r.tiles.count + tile] = sum[k];
    __threadfence();
    u32 of_block = u32(r.tiles.of_block[block + 1] - r.tiles.of_block[block]);
    last = atomicAdd(r.tiles_done + block, 1u) == of_block - 1;
    if (last) r.tiles_done[block] = 0;
    __threadfence();
  }
  if (!__shfl_sync(~0u, last, 0)) return;
  __syncwarp();
  send_block<K>(a, block, epoch);
}

// --- finish ----------------------------------------------------------------------------------------------------------------

/// Adds a lane's blocks of one value to its running sum; `first` numbers the reduction's parts for an error.
__device__ inline bool add_blocks(const Args& a, const FinishArgs& f, const Packet* packets, u32 epoch, i32 first, double& sum,
                                  u32& words) {
  constexpr int ahead = 8;  // packets on their way at once
#pragma unroll 1
  for (i32 b = threadIdx.x; b < f.parts; b += ahead * 32) {
    Packet got[ahead];
#pragma unroll
    for (int j = 0; j < ahead; j++) got[j] = load_packet(packets + i64(min(b + j * 32, f.parts - 1)) * f.values);
#pragma unroll
    for (int j = 0; j < ahead; j++) {
      i32 part = b + j * 32;
      if (part >= f.parts) break;
      bool there = is_epoch(u32(got[j].tag), epoch) ||
                   spin(a, Wait::reduction, 0, first + part * f.values, flag_word(epoch, false), [&](u32& seen) {
                     got[j] = load_packet(packets + i64(part) * f.values);
                     seen = u32(got[j].tag);
                     return is_epoch(seen, epoch);
                   });
      if (!there) return false;
      sum += got[j].value;
      words |= u32(got[j].tag);
    }
  }
  return true;
}

/// The first warp of the only thread block of a launch that does nothing else but finish and test.
__device__ inline bool finish_in_order(const Args& a, Shared& s, bool halted) {
  u32 words = 0;
  u64 since = nanoseconds();
  bool lost = __any_sync(~0u, halted);
  i32 first = 0;
#pragma unroll 1
  for (int j = 0; j < a.n_finishes && !lost; j++) {
    const FinishArgs& f = a.finish[j];
    u32 epoch = epoch_of(a, f.epoch);
#pragma unroll 1
    for (int k = 0; k < f.values && !lost; k++) {
      double sum = 0;
      const Packet* packets = f.packets + i64(epoch & 1) * f.parts * f.values + k;
      lost = __any_sync(~0u, !add_blocks(a, f, packets, epoch, first + k, sum, words));
      sum = fold_warp(sum);
      if (threadIdx.x != 0) continue;
      s.finished[j * most_values + k] = sum;
      a.scalars[f.to[k]] = sum;
    }
    first += f.parts * f.values;
  }
  if (lost) return false;
  s.stop = __any_sync(~0u, words & 1);
  __syncwarp();
  book_finish(a, s, u32(nanoseconds() - since));
  return true;
}

}  // namespace sordino::cuda
