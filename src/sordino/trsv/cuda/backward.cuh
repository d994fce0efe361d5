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
  w.store_result(w.s.order[b.column + column], x);
  const i64 at = i64(b.column + column) * K;
#pragma unroll
  for (int r = 0; r < K; r++) {
    w.team.mine(w.s.x)[at + r] = x[r];
    for (u32 left = readers; left != 0; left &= left - 1) w.team.at(__ffs(int(left)) - 1, w.s.x)[at + r] = x[r];
  }
}

/// Columns that a lane adds up at once.
template <class V, int K>
constexpr int columns_of_lane() {
  constexpr int words = int(64 / (sizeof(V) * K));
  return words < 1 ? 1 : words > 8 ? 8 : words;
}

/// How lanes of a warp share a block's columns: `pairs` of them have two rows each of one column, and `columns` columns are
/// read at once, which lie beside each other.
struct Lanes {
  int pairs, columns, column, pair;
  __device__ explicit Lanes(const Block& b) {
    pairs = (min(b.strip_rows, b.front) + 1) / 2;
    columns = 32 / pairs;
    column = int(threadIdx.x) % 32 / pairs;
    pair = int(threadIdx.x) % 32 % pairs;
  }
  __device__ bool busy() const { return column < columns; }
};

/// One warp: sums over strips first, first + step, ..., before `end_strip`, of columns j + g, of which a lane has every
/// `lanes.columns`-th. C loads are on their way at once: where there are fewer columns, of several strips, whose sums are added
/// in the end. `front(i, y)` hands out rows of the front.
template <class V, int K, int C, class Front>
__device__ __forceinline__ void multiply_rows(const Worker<V, K>& w, const Block& b, const Lanes& lanes, i32 first, i32 step,
                                              i32 end_strip, i32 j, i32 end, V (&acc)[C][K], const Front& front) {
  int groups = 1;  // of columns
  while (groups < C && groups * lanes.columns < end - j) groups *= 2;
  const int i = 2 * lanes.pair;
  for (i32 k = first; k < end_strip; k += C / groups * step) {
    Pair<V> p[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
      const i32 at = k + c / groups * step, column = j + lanes.column + c % groups * lanes.columns;
      p[c] = {V{}, V{}};
      if (at >= end_strip || column >= end || !lanes.busy()) continue;
      const Strip strip = strip_of(b, at);
      if (i < strip.rows && column < strip.columns)
        p[c] = load_values(w.s.values + w.s.strips[b.strip + at] + i + i64(column) * strip.lead);
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
      const i32 at = k + c / groups * step, row = at * b.strip_rows + i;
      if (at >= end_strip || row >= b.front || !lanes.busy()) continue;
      V y[2][K];
      front(row, y[0]);
      front(row + 1, y[1]);
#pragma unroll
      for (int r = 0; r < K; r++) acc[c][r] = acc[c][r] + w.factor_entry(p[c].a) * y[0][r] + w.factor_entry(p[c].b) * y[1][r];
    }
  }
}

/// Sums of the strips that were read at once, before lanes are added: column group g is then in acc[g].
template <class V, int K, int C>
__device__ __forceinline__ void add_strips(const Lanes& lanes, i32 columns, V (&acc)[C][K]) {
  int groups = 1;
  while (groups < C && groups * lanes.columns < columns) groups *= 2;
#pragma unroll
  for (int by = C / 2; by > 0; by /= 2)
    if (by >= groups)
#pragma unroll
      for (int c = 0; c < by; c++)
#pragma unroll
        for (int r = 0; r < K; r++) acc[c][r] = acc[c][r] + acc[c + by][r];
}

/// The sums of a column's lanes.
template <class V, int K, int C>
__device__ __forceinline__ void add_lanes(const Lanes& lanes, V (&acc)[C][K]) {
#pragma unroll
  for (int c = 0; c < C; c++)
#pragma unroll
    for (int r = 0; r < K; r++)
      for (int by = 16; by > 0; by /= 2) {
        const V other = shuffle_down(acc[c][r], by);
        if (lanes.pair + by < lanes.pairs) acc[c][r] = acc[c][r] + other;
      }
}

/// Rows of a front that are at hand at once, of so many bytes each.
constexpr i32 rows_at_once(int bytes_of_row) {
  constexpr int most = 3072, most_bytes = 48 << 10;
  return most_bytes / bytes_of_row < most ? most_bytes / bytes_of_row : most;
}

/// Workers: the front is fetched piece by piece; each warp has every fourth strip of a piece, and their sums are added in
/// the order of the warps.
template <class V, int K>
__device__ void backward_columns(const Worker<V, K>& w, const QueuedTask& t) {
  constexpr int C = columns_of_lane<V, K>();
  const Block& b = t.block;
  const Lanes lanes(b);
  const int columns_at_once = C * lanes.columns;
  constexpr i32 most_rows = rows_at_once(K * sizeof(V));
  const i32 strips_at_once = most_rows / b.strip_rows;
  V* const y = reinterpret_cast<V*>(w.memory);  // [most_rows][K]
  V* const partial = y + i64(most_rows) * K;    // [warps][columns at once][K]
  for (i32 j = t.first; j < t.end; j += columns_at_once) {
    V acc[C][K] = {};
    for (i32 k = j / b.strip_rows; k < b.strips(); k += strips_at_once) {
      const i32 first = k * b.strip_rows, rows = min(strips_at_once * b.strip_rows, b.front - first);
      meet_workers();
#pragma unroll 4
      for (i32 i = w.thread(); i < rows + 1; i += worker_threads) {
        V of_row[K];
        load_front(w, b, first + i, of_row);
#pragma unroll
        for (int r = 0; r < K; r++) y[i * K + r] = of_row[r];
      }
      meet_workers();
      multiply_rows<V, K, C>(w, b, lanes, k + w.warp(), worker_warps, min(k + strips_at_once, b.strips()), j, t.end, acc,
                             [&](i32 i, V(&to)[K]) {
#pragma unroll
                               for (int r = 0; r < K; r++) to[r] = y[(i - first) * K + r];
                             });
    }
    add_strips(lanes, t.end - j, acc);
    add_lanes(lanes, acc);
    if (lanes.pair == 0 && lanes.busy())
#pragma unroll
      for (int c = 0; c < C; c++)
#pragma unroll
        for (int r = 0; r < K; r++) partial[((w.warp() * C + c) * lanes.columns + lanes.column) * K + r] = acc[c][r];
    meet_workers();
    for (i32 c = w.thread(); c < columns_at_once && j + c < t.end; c += worker_threads) {
      V sum[K] = {};
      for (int q = 0; q < worker_warps; q++)
#pragma unroll
        for (int r = 0; r < K; r++) sum[r] = sum[r] + partial[(q * columns_at_once + c) * K + r];
      store_column(w, b, j + c, sum, t.readers);
    }
  }
  meet_workers();
}

/// One warp, for a small block.
template <class V, int K>
__device__ void backward_small(const Worker<V, K>& w, const QueuedTask& t, i32 k) {
  constexpr int C = columns_of_lane<V, K>();
  const Block b = w.s.blocks[k];
  const Lanes lanes(b);
  for (i32 j = 0; j < b.width; j += C * lanes.columns) {
    V acc[C][K] = {};
    multiply_rows<V, K, C>(w, b, lanes, j / b.strip_rows, 1, b.strips(), j, b.width, acc,
                           [&](i32 i, V(&to)[K]) { load_front(w, b, i, to); });
    add_strips(lanes, b.width - j, acc);
    add_lanes(lanes, acc);
#pragma unroll
    for (int c = 0; c < C; c++) {
      const i32 column = j + lanes.column + c * lanes.columns;
      if (lanes.pair == 0 && lanes.busy() && column < b.width) store_column(w, b, column, acc[c], t.readers);
    }
  }
}

/// Workers: each warp takes the next small block from the last on, and waits for its parent.
template <class V, int K>
__device__ void backward_subtrees(const Worker<V, K>& w, const QueuedTask& t) {
  const i32 count = t.end - t.first;
  for (i32 k = w.thread(); k < count; k += worker_threads) w.desk.waits_for[k] = 1;
  if (w.thread() == 0) w.desk.taken = 0;
  meet_workers();
  while (true) {
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

/// Workers: a task whose needs are there.
template <class V, int K>
__device__ void carry_back(const Worker<V, K>& w, const QueuedTask& t) {
  if (t.kind == Task::Kind::columns)
    backward_columns(w, t);
  else
    backward_subtrees(w, t);
  come<Meeting::values_used>();
  wait_for<Meeting::task_known>();
  come<Meeting::task_done>();
}

}  // namespace sordino::trsv
