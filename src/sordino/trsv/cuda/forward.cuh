// Device code: tasks on the way from the leaves to the root.
#pragma once
#include "sordino/trsv/cuda/workers.cuh"

namespace sordino::trsv {

/// Lanes that share two rows of a block with so many columns: a power of two.
__device__ __forceinline__ int lanes_for(i32 width) {
  return width >= 128 ? 32 : width >= 64 ? 16 : width >= 32 ? 8 : width >= 16 ? 4 : width >= 8 ? 2 : 1;
}

/// One warp: two rows of a strip by `lanes` lanes each, from the `first`-th pair of rows on, `step` pairs from one time to the
/// next. `take(row, product)` is called by one lane for each row. Values and operands are at hand.
template <class V, int K, class Take>
__device__ __forceinline__ void multiply_strip(const V* values, const Strip& strip, const V* operand, int lanes, int first,
                                               int step, const Take& take) {
  const int lane = int(threadIdx.x) % 32, share = lane & (lanes - 1), pairs = (strip.rows + 1) / 2;
  for (int at = first; at < pairs; at += step) {
    const int pair = at + lane / lanes;
    V acc[2][K] = {};
    if (pair < pairs) {
#pragma unroll 4
      for (i32 j = share; j < strip.columns; j += lanes) {
        const Pair<V> p = *reinterpret_cast<const Pair<V>*>(values + j * strip.lead + 2 * pair);
#pragma unroll
        for (int r = 0; r < K; r++) {
          const V v = operand[j * K + r];
          acc[0][r] = acc[0][r] + p.a * v;
          acc[1][r] = acc[1][r] + p.b * v;
        }
      }
    }
    for (int other = 1; other < lanes; other *= 2)
#pragma unroll
      for (int r = 0; r < K; r++) {
        acc[0][r] = acc[0][r] + shuffle_xor(acc[0][r], other);
        acc[1][r] = acc[1][r] + shuffle_xor(acc[1][r], other);
      }
    if (share != 0 || pair >= pairs) continue;
    take(2 * pair, acc[0]);
    if (2 * pair + 1 < strip.rows) take(2 * pair + 1, acc[1]);
  }
}

// --- strips ----------------------------------------------------------------------------------------------------------------

/// What a thread knows of a column of b before it waits.
template <class V, int K>
struct ColumnAhead {
  RowSources sources;
  V b[K];
};

/// Columns and rows that a thread has; if a block is wider, it looks at the others when it needs them.
inline constexpr int columns_of_thread = 4, rows_of_thread = 2;

/// What a thread knows of a task before it waits: all that does not depend on other tasks is looked at while the task before it
/// is still stored and told of.
template <class V, int K>
struct Ahead {
  ColumnAhead<V, K> columns[columns_of_thread];
  RowSources below[rows_of_thread];
  i32 result[rows_of_thread];  // rows of the caller's
  i32 need;
};

template <class V, int K>
__device__ __forceinline__ void look_at_column(const Worker<V, K>& w, const Block& b, i32 j, ColumnAhead<V, K>& a) {
  a.sources = w.s.row_sources[b.source + j];
  const i32 row = w.s.order[b.column + j];
#pragma unroll
  for (int r = 0; r < K; r++) a.b[r] = w.b(row, r);
}

/// All threads, for the task in `slot`, if there is one.
template <class V, int K>
__device__ __forceinline__ void look_ahead(const Worker<V, K>& w, int slot, Ahead<V, K>& a) {
  if (w.desk.ticket[slot] >= u32(w.s.count)) return;
  const QueuedTask& t = w.desk.task[slot];
  a.need = w.first_need(t);
  if (t.kind != Task::Kind::strips || w.fetches()) return;
  const Block& b = t.block;
  const i32 first_row = t.first * b.strip_rows, end = min(t.end * b.strip_rows, b.front);
#pragma unroll
  for (int q = 0; q < columns_of_thread; q++)
    if (const i32 j = w.thread() + q * worker_threads; j < b.width) look_at_column(w, b, j, a.columns[q]);
#pragma unroll
  for (int q = 0; q < rows_of_thread; q++)
    if (const i32 i = first_row + w.thread() + q * worker_threads; i < end) {
      a.below[q] = w.s.row_sources[b.source + i];
      if (i < b.width) a.result[q] = w.s.order[b.column + i];
    }
}

template <class V, int K>
__device__ __forceinline__ void make_operand(const Worker<V, K>& w, i32 j, const ColumnAhead<V, K>& a) {
  V sum[K] = {};
  w.add_sources(a.sources, sum);
#pragma unroll
  for (int r = 0; r < K; r++) w.operands()[j * K + r] = a.b[r] - sum[r];
}

/// The product of strips with the operand: pairs of rows are dealt to the warps over all strips.
template <class V, int K>
__device__ void multiply_strips(const Worker<V, K>& w, const QueuedTask& t) {
  const Block& b = t.block;
  const int lanes = lanes_for(b.width), pairs_at_once = 32 / lanes;
  const V* values = reinterpret_cast<const V*>(w.memory);
  for (i32 k = t.first, turn = w.warp(); k < t.end; k++) {
    const Strip strip = strip_of(b, k);
    V* const product = w.products() + i64(k - t.first) * b.strip_rows * K;
    multiply_strip<V, K>(values, strip, w.operands(), lanes, turn * pairs_at_once, worker_warps * pairs_at_once,
                         [&](i32 i, const V(&acc)[K]) {
#pragma unroll
                           for (int r = 0; r < K; r++) product[i * K + r] = acc[r];
                         });
    const int turns = ((strip.rows + 1) / 2 + pairs_at_once - 1) / pairs_at_once;
    turn = (turn + worker_warps - turns % worker_warps) % worker_warps;
    values += strip.size();
  }
}

/// All threads: false if the wait is lost. `a` is of this task, and then of the next one.
template <class V, int K>
__device__ bool forward_strips(const Worker<V, K>& w, int slot, Ahead<V, K>& a, u32& uses, u64& began) {
  const QueuedTask& t = w.desk.task[slot];
  const Block& b = t.block;
  const i32 first_row = t.first * b.strip_rows, end = min(t.end * b.strip_rows, b.front);
  if (!w.wait_for_needs(t, a.need)) return false;
  began = w.clock();
  V sums[rows_of_thread][K] = {};
  i32 result[rows_of_thread];
  if (!w.fetches()) {
#pragma unroll
    for (int q = 0; q < columns_of_thread; q++)
      if (const i32 j = w.thread() + q * worker_threads; j < b.width) make_operand(w, j, a.columns[q]);
    for (i32 j = w.thread() + columns_of_thread * worker_threads; j < b.width; j += worker_threads) {
      look_at_column(w, b, j, a.columns[0]);
      make_operand(w, j, a.columns[0]);
    }
#pragma unroll
    for (int q = 0; q < rows_of_thread; q++) {
      const i32 i = first_row + w.thread() + q * worker_threads;
      result[q] = a.result[q];
      if (i < end && i >= b.width) w.add_sources(a.below[q], sums[q]);
    }
  }
  __syncthreads();
  w.desk.copy.wait(uses);
  if (!w.fetches()) multiply_strips(w, t);
  __syncthreads();
  if (w.fetches()) w.let_come(slot ^ 1);
  look_ahead(w, slot ^ 1, a);
  if (w.fetches()) return true;
#pragma unroll
  for (int q = 0; q < rows_of_thread; q++) {
    const i32 i = first_row + w.thread() + q * worker_threads;
    if (i >= end) continue;
    const V* const product = w.products() + i64(i - first_row) * K;
    if (i < b.width) {
      w.store_result(result[q], product);
    } else {
#pragma unroll
      for (int r = 0; r < K; r++) sums[q][r] = sums[q][r] + product[r];
      w.store_sums(b.slot + i - b.width, sums[q], t.readers);
    }
  }
  return true;
}

// --- subtrees --------------------------------------------------------------------------------------------------------------

/// One warp, for a small block whose values, program, operands and sums are at hand.
template <class V, int K>
__device__ void forward_small(const Worker<V, K>& w, const QueuedTask& t, const i32* program, const SmallBlock b,
                              const V* values) {
  V* const operand = w.operands() + i64(b.column) * K;
  V *const x = w.products() + i64(b.column) * K, *const sums = w.products() + i64(t.columns) * K;
  for (i32 i = w.lane(); i < b.front; i += 32) {  // the children's sums, of all rows at once
    V sum[K] = {};
    for (i32 e = program[b.sources + i], end = program[b.sources + i + 1]; e < end; e++)
#pragma unroll
      for (int r = 0; r < K; r++) sum[r] = sum[r] + sums[i64(program[e]) * K + r];
#pragma unroll
    for (int r = 0; r < K; r++)
      if (i < b.width)
        operand[i * K + r] = operand[i * K + r] - sum[r];
      else
        sums[i64(b.slot + i - b.width) * K + r] = sum[r];
  }
  __syncwarp();
  const Block shape{.width = b.width, .front = b.front, .strip_rows = b.strip_rows};
  const int lanes = lanes_for(b.width);
  values += b.values;
  for (i32 k = 0; k < shape.strips(); k++) {
    const Strip strip = strip_of(shape, k);
    multiply_strip<V, K>(values, strip, operand, lanes, 0, 32 / lanes, [&](i32 in_strip, V(&acc)[K]) {
      const i32 i = strip.first + in_strip;
      V* const to = i < b.width ? x + i64(i) * K : sums + i64(b.slot + i - b.width) * K;
#pragma unroll
      for (int r = 0; r < K; r++) to[r] = i < b.width ? acc[r] : to[r] + acc[r];
    });
    values += strip.size();
  }
}

/// All threads: results, and the sums of blocks whose parents are elsewhere.
template <class V, int K>
__device__ void store_subtrees(const Worker<V, K>& w, const QueuedTask& t, const SmallBlock* blocks) {
  constexpr int threads = worker_threads + 32;
  for (i32 k = w.warp(); k < t.end - t.first; k += threads / 32) {
    if (blocks[k].parent >= 0) continue;
    const i32 height = blocks[k].front - blocks[k].width;
    for (i32 i = w.lane(); i < height; i += 32) {
      V sum[K];
#pragma unroll
      for (int r = 0; r < K; r++) sum[r] = w.products()[i64(t.columns + blocks[k].slot + i) * K + r];
      w.store_sums(blocks[k].slot_of_all + i, sum, t.readers);
    }
  }
#pragma unroll 4
  for (i32 j = w.thread(); j < t.columns; j += threads)
    w.store_result(w.s.order[t.block.column + j], w.products() + i64(j) * K);
}

/// All threads: each warp takes the next small block and waits for its children, which come before it and do not wait for it.
template <class V, int K>
__device__ void forward_subtrees(const Worker<V, K>& w, int slot, Ahead<V, K>& a, u32& uses) {
  const QueuedTask& t = w.desk.task[slot];
  const i32 count = t.end - t.first;
  if (!w.fetches())
#pragma unroll 4
    for (i32 j = w.thread(); j < t.columns; j += worker_threads) {
      const i32 row = w.s.order[t.block.column + j];
#pragma unroll
      for (int r = 0; r < K; r++) w.operands()[j * K + r] = w.b(row, r);
    }
  w.desk.copy.wait(uses);
  const V* const values = reinterpret_cast<const V*>(w.memory);
  const i32* const program = reinterpret_cast<const i32*>(w.memory + t.value_bytes);
  const SmallBlock* const blocks = reinterpret_cast<const SmallBlock*>(program);
  for (i32 k = w.thread(); k < count; k += worker_threads + 32) w.desk.waits_for[k] = blocks[k].children;
  if (w.thread() == 0) w.desk.taken = 0;
  __syncthreads();
  while (!w.fetches()) {
    i32 k = 0;
    if (w.lane() == 0) k = atomicAdd(&w.desk.taken, 1);
    k = __shfl_sync(~0u, k, 0);
    if (k >= count) break;
    const SmallBlock b = blocks[k];
    while (*const_cast<volatile i32*>(&w.desk.waits_for[k]) > 0) {
    }
    __threadfence_block();
    forward_small(w, t, program, b, values);
    __threadfence_block();
    __syncwarp();
    if (w.lane() == 0 && b.parent >= 0) atomicSub(&w.desk.waits_for[b.parent], 1);
  }
  __syncthreads();
  look_ahead(w, slot ^ 1, a);
  store_subtrees(w, t, blocks);
  __syncthreads();
  if (w.fetches()) w.let_come(slot ^ 1);
}

}  // namespace sordino::trsv
