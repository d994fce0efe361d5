// Device code: tasks on the way from the root to the leaves.
#pragma once
#include "sordino/trsv/cuda/workers.cuh"

namespace sordino::trsv {

/// Right-hand sides of row i of a front, or minus x of a row below it.
template <class V, int K>
__device__ __forceinline__ void load_front(const Worker<V, K>& w, const Block& b, i32 i, V (&y)[K]) {
  if (i >= b.front) {
#pragma unroll
    for (int r = 0; r < K; r++) y[r] = V{};
  } else if (i < b.width) {
#pragma unroll
    for (int r = 0; r < K; r++) y[r] = w.b(b.column + i, r);
  } else {
    const V* const x = w.team.mine(w.s.x) + i64(w.s.rows[b.rows + i]) * K;
#pragma unroll
    for (int r = 0; r < K; r++) y[r] = V{} - load_shared_by_all(x + r);
  }
}

/// A column's x, here and where it is read.
template <class V, int K>
__device__ __forceinline__ void store_column(const Worker<V, K>& w, const Block& b, i32 column, const V (&x)[K], u32 readers) {
  w.store_result(b, column, x);
  const i64 at = i64(b.column + column) * K;
#pragma unroll
  for (int r = 0; r < K; r++) {
    w.team.mine(w.s.x)[at + r] = x[r];
    for (u32 left = readers; left != 0; left &= left - 1) w.team.at(__ffs(int(left)) - 1, w.s.x)[at + r] = x[r];
  }
}

/// Columns that a warp takes at once.
template <class V, int K>
constexpr int columns_at_once() {
  constexpr int words = int(64 / (sizeof(V) * K));
  return words < 1 ? 1 : words > 8 ? 8 : words;
}

/// One warp: sums over strips first, first + step, ... of columns j, ..., of which there are up to C before `end`; they are then
/// in all lanes.
template <class V, int K, int C>
__device__ __forceinline__ void multiply_rows(const Worker<V, K>& w, const Block& b, i32 first, i32 step, i32 j, i32 end,
                                              V (&acc)[C][K]) {
  for (i32 k = first; k < b.strips(); k += step) {
    const Strip strip = strip_of(b, k);
    const int i = 2 * w.lane();
    if (i >= strip.rows) continue;
    V y[2][K];
    load_front(w, b, strip.first + i, y[0]);
    load_front(w, b, strip.first + i + 1, y[1]);
    const V* const values = w.s.values + w.s.strips[b.strip + k] + i;
    Pair<V> p[C];
#pragma unroll
    for (int c = 0; c < C; c++)
      if (j + c < end && j + c < strip.columns) p[c] = load_values(values + i64(j + c) * strip.lead);
#pragma unroll
    for (int c = 0; c < C; c++)
      if (j + c < end && j + c < strip.columns)
#pragma unroll
        for (int r = 0; r < K; r++)
          acc[c][r] = acc[c][r] + w.factor_entry(p[c].a) * y[0][r] + w.factor_entry(p[c].b) * y[1][r];
  }
#pragma unroll
  for (int c = 0; c < C; c++)
#pragma unroll
    for (int r = 0; r < K; r++)
      for (int other = 16; other > 0; other /= 2) acc[c][r] = acc[c][r] + shuffle_xor(acc[c][r], other);
}

/// All threads: each warp has every eighth strip, and their sums are added in the order of the warps.
template <class V, int K>
__device__ void backward_columns(const Worker<V, K>& w, const QueuedTask& t) {
  constexpr int C = columns_at_once<V, K>();
  const Block b = w.s.blocks[t.block];
  V* const partial = w.memory;  // [warps][C][K]
  for (i32 j = t.first; j < t.end; j += C) {
    V acc[C][K] = {};
    multiply_rows<V, K, C>(w, b, j / strip_rows + w.warp(), worker_warps, j, t.end, acc);
    if (w.lane() == 0)
#pragma unroll
      for (int c = 0; c < C; c++)
#pragma unroll
        for (int r = 0; r < K; r++) partial[(w.warp() * C + c) * K + r] = acc[c][r];
    __syncthreads();
    if (const i32 c = w.thread(); c < C && j + c < t.end) {
      V sum[K] = {};
      for (int q = 0; q < worker_warps; q++)
#pragma unroll
        for (int r = 0; r < K; r++) sum[r] = sum[r] + partial[(q * C + c) * K + r];
      store_column(w, b, j + c, sum, t.readers);
    }
    __syncthreads();
  }
}

/// One warp, for a small block.
template <class V, int K>
__device__ void backward_small(const Worker<V, K>& w, const QueuedTask& t, i32 k) {
  constexpr int C = columns_at_once<V, K>();
  const Block b = w.s.blocks[k];
  for (i32 j = 0; j < b.width; j += C) {
    V acc[C][K] = {};
    multiply_rows<V, K, C>(w, b, j / strip_rows, 1, j, b.width, acc);
#pragma unroll
    for (int c = 0; c < C; c++)
      if (w.lane() == c && j + c < b.width) store_column(w, b, j + c, acc[c], t.readers);
  }
}

/// All threads: each warp takes the next small block from the last on, and waits for its parent.
template <class V, int K>
__device__ void backward_subtrees(const Worker<V, K>& w, const QueuedTask& t) {
  for (i32 k = t.first + w.thread(); k < t.end; k += worker_threads) w.desk.waits_for[k - t.first] = 1;
  if (w.thread() == 0) w.desk.taken = 0;
  __syncthreads();
  for (;;) {
    i32 k = 0;
    if (w.lane() == 0) k = t.end - 1 - atomicAdd(&w.desk.taken, 1);
    k = __shfl_sync(~0u, k, 0);
    if (k < t.first) break;
    const i32 parent = w.s.parent[k];
    if (w.lane() == 0 && parent >= t.first && parent < t.end)
      while (*const_cast<volatile i32*>(&w.desk.waits_for[parent - t.first]) > 0) {
      }
    __syncwarp();
    __threadfence_block();
    backward_small(w, t, k);
    __threadfence_block();
    __syncwarp();
    if (w.lane() == 0) *const_cast<volatile i32*>(&w.desk.waits_for[k - t.first]) = 0;
  }
}

}  // namespace sordino::trsv
