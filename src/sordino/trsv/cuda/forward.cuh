// Device code: tasks on the way from the leaves to the root.
#pragma once
#include "sordino/trsv/cuda/workers.cuh"

namespace sordino::trsv {

/// One lane, for two rows: acc += P(rows, j) operand(j) for columns j = first, first + step, ... Eight loads are on their way
/// at once.
template <class V, int K>
__device__ __forceinline__ void multiply_columns(const V* values, i32 lead, i32 first, i32 step, i32 columns, const V* operand,
                                                 V (&acc)[2][K]) {
  constexpr int ahead = sizeof(V) * K <= 16 ? 8 : 4;
  i32 j = first;
  for (; j + (ahead - 1) * step < columns; j += ahead * step) {
    Pair<V> p[ahead];
#pragma unroll
    for (int u = 0; u < ahead; u++) p[u] = load_values(values + i64(j + u * step) * lead);
#pragma unroll
    for (int u = 0; u < ahead; u++)
#pragma unroll
      for (int r = 0; r < K; r++) {
        const V v = operand[(j + u * step) * K + r];
        acc[0][r] = acc[0][r] + p[u].a * v;
        acc[1][r] = acc[1][r] + p[u].b * v;
      }
  }
  for (; j < columns; j += step) {
    const Pair<V> p = load_values(values + i64(j) * lead);
#pragma unroll
    for (int r = 0; r < K; r++) {
      const V v = operand[j * K + r];
      acc[0][r] = acc[0][r] + p.a * v;
      acc[1][r] = acc[1][r] + p.b * v;
    }
  }
}

/// All threads. Up to eight strips at once, or fewer with several warps each, whose sums are added in the order of the warps.
template <class V, int K>
__device__ void forward_strips(const Worker<V, K>& w, const QueuedTask& t) {
  const Block b = w.s.blocks[t.block];
  V* const operand = w.memory;                    // [width][K]
  V* const partial = w.memory + i64(w.s.width) * K;  // [warps][strip_rows][K]
  for (i32 j = w.thread(); j < b.width; j += worker_threads) w.operand(b, j, operand + j * K);
  __syncthreads();
  const int count = t.end - t.first, at_once = count >= 8 ? 8 : count >= 4 ? 4 : count >= 2 ? 2 : 1;
  const int of_strip = worker_warps / at_once, part = w.warp() % of_strip;
  for (i32 base = t.first; base < t.end; base += at_once) {
    const i32 k = base + w.warp() / of_strip;
    V acc[2][K] = {};
    const Strip strip = strip_of(b, k < t.end ? k : t.first);
    const int i = 2 * w.lane();
    if (k < t.end && i < strip.rows)
      multiply_columns<V, K>(w.s.values + w.s.strips[b.strip + k] + i, strip.lead, part, of_strip, strip.columns, operand, acc);
#pragma unroll
    for (int r = 0; r < K; r++) {
      partial[(w.warp() * strip_rows + i) * K + r] = acc[0][r];
      partial[(w.warp() * strip_rows + i + 1) * K + r] = acc[1][r];
    }
    __syncthreads();
    for (i32 row = w.thread(); row < at_once * strip_rows; row += worker_threads) {
      const i32 of = base + row / strip_rows, in_strip = row % strip_rows, in_front = of * strip_rows + in_strip;
      if (of >= t.end || in_front >= b.front) continue;
      V sum[K] = {};
      for (int q = 0; q < of_strip; q++)
#pragma unroll
        for (int r = 0; r < K; r++)
          sum[r] = sum[r] + partial[((row / strip_rows * of_strip + q) * strip_rows + in_strip) * K + r];
      w.store_row(b, in_front, sum, t.readers);
    }
    __syncthreads();
  }
}

/// One warp, for a small block. Where a strip has few rows, lanes share its columns.
template <class V, int K>
__device__ void forward_small(const Worker<V, K>& w, const QueuedTask& t, i32 k) {
  const Block b = w.s.blocks[k];
  V* const operand = w.memory + i64(w.warp()) * w.s.small_width * K;
  for (i32 j = w.lane(); j < b.width; j += 32) w.operand(b, j, operand + j * K);
  __syncwarp();
  const u32 readers = w.s.parent[k] < t.first || w.s.parent[k] >= t.end ? t.readers : 0;
  for (i32 strip_at = 0; strip_at < b.strips(); strip_at++) {
    const Strip strip = strip_of(b, strip_at);
    int pairs = 1;
    while (2 * pairs < strip.rows) pairs *= 2;
    const int i = 2 * (w.lane() % pairs), share = w.lane() / pairs;
    V acc[2][K] = {};
    if (i < strip.rows)
      multiply_columns<V, K>(w.s.values + w.s.strips[b.strip + strip_at] + i, strip.lead, share, 32 / pairs, strip.columns, operand,
                             acc);
    for (int other = pairs; other < 32; other *= 2)
#pragma unroll
      for (int r = 0; r < K; r++) {
        acc[0][r] = acc[0][r] + shuffle_xor(acc[0][r], other);
        acc[1][r] = acc[1][r] + shuffle_xor(acc[1][r], other);
      }
    if (share != 0) continue;
    if (i < strip.rows) w.store_row(b, strip.first + i, acc[0], readers);
    if (i + 1 < strip.rows) w.store_row(b, strip.first + i + 1, acc[1], readers);
  }
}

/// All threads: each warp takes the next small block and waits for its children, which come before it and do not wait for it.
template <class V, int K>
__device__ void forward_subtrees(const Worker<V, K>& w, const QueuedTask& t) {
  for (i32 k = t.first + w.thread(); k < t.end; k += worker_threads) w.desk.waits_for[k - t.first] = w.s.children[k];
  if (w.thread() == 0) w.desk.taken = 0;
  __syncthreads();
  for (;;) {
    i32 k = 0;
    if (w.lane() == 0) k = t.first + atomicAdd(&w.desk.taken, 1);
    k = __shfl_sync(~0u, k, 0);
    if (k >= t.end) break;
    if (w.lane() == 0)
      while (*const_cast<volatile i32*>(&w.desk.waits_for[k - t.first]) > 0) {
      }
    __syncwarp();
    __threadfence_block();
    forward_small(w, t, k);
    __threadfence_block();
    __syncwarp();
    const i32 parent = w.s.parent[k];
    if (w.lane() == 0 && parent >= t.first && parent < t.end) atomicSub(&w.desk.waits_for[parent - t.first], 1);
  }
}

}  // namespace sordino::trsv
