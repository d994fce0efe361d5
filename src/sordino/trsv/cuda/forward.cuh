// Device code: tasks on the way from the leaves to the root.
#pragma once
#include "sordino/trsv/cuda/forward_strips.cuh"
#include "sordino/trsv/cuda/pair_subtrees.cuh"

namespace sordino::trsv {

/// Lanes that share two rows of a small block with so many columns are a power of two: its logarithm.
__device__ __forceinline__ int log_of_lanes_for(i32 width) {
  return width >= 128 ? 5 : width >= 64 ? 4 : width >= 32 ? 3 : width >= 16 ? 2 : width >= 8 ? 1 : 0;
}

// --- subtrees --------------------------------------------------------------------------------------------------------------

/// One warp: rows of a strip, two at a time by so many lanes. `take(row, product)` is called by one lane for each row.
template <class V, int K, class Take>
__device__ __forceinline__ void multiply_strip(const V* values, const Strip& strip, const V* operand, int log_of_lanes,
                                               const Take& take) {
  const int lanes = 1 << log_of_lanes, lane = int(threadIdx.x) % 32, share = lane & (lanes - 1), pairs = (strip.rows + 1) / 2;
  for (int first = 0; first < pairs; first += 32 >> log_of_lanes) {
    const int pair = first + (lane >> log_of_lanes);
    V acc[2][K] = {};
    if (pair < pairs)
      multiply_pair<V, K>(values + share * strip.lead + 2 * pair, strip.lead, operand + share * K, share, lanes, strip.columns,
                          acc);
    add_shares(lanes, acc);
    if (share != 0 || pair >= pairs) continue;
    take(2 * pair, acc[0]);
    if (2 * pair + 1 < strip.rows) take(2 * pair + 1, acc[1]);
  }
}

/// One warp, for a small block whose values, program, operands and sums are at hand.
template <class V, int K, int P>
__device__ void forward_small(const Worker<V, K, P>& w, const QueuedTask& t, const i32* program, const SmallBlock b,
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
  const int log_of_lanes = log_of_lanes_for(b.width);
  values += b.values;
  for (i32 k = 0; k * b.strip_rows < b.front; k++) {
    const Strip strip = strip_of(shape, k);
    multiply_strip<V, K>(values, strip, operand, log_of_lanes, [&](i32 in_strip, V(&acc)[K]) {
      const i32 i = strip.first + in_strip;
      V* const to = i < b.width ? x + i64(i) * K : sums + i64(b.slot + i - b.width) * K;
#pragma unroll
      for (int r = 0; r < K; r++) to[r] = i < b.width ? acc[r] : to[r] + acc[r];
    });
    values += strip.size();
  }
}

/// Workers: results, and the sums of blocks whose parents are elsewhere.
template <class V, int K, int P>
__device__ void store_subtrees_by_rows(const Worker<V, K, P>& w, const QueuedTask& t, const SmallBlock* blocks) {
#pragma unroll 4
  for (i32 j = w.thread(); j < t.columns; j += worker_threads)
    w.store_result(w.s.order[t.block.column + j], w.products() + i64(j) * K);
  for (i32 k = w.warp(); k < t.end - t.first; k += worker_warps) {
    if (blocks[k].parent >= 0) continue;
    const i32 height = blocks[k].front - blocks[k].width;
    for (i32 i = w.lane(); i < height; i += 32) {
      V sum[K];
#pragma unroll
      for (int r = 0; r < K; r++) sum[r] = w.products()[i64(t.columns + blocks[k].slot + i) * K + r];
      w.store_sums(blocks[k].slot_of_all + i, sum, t.readers);
    }
  }
}

/// Workers: either, as it suits the columns.
template <class V, int K, int P>
__device__ __forceinline__ void load_columns(const Worker<V, K, P>& w, const QueuedTask& t) {
  if constexpr (has_tensor_cores<V, K>)
    load_columns_by_pairs(w, t);
  else
    load_columns_by_rows(w, t);
}
template <class V, int K, int P>
__device__ __forceinline__ void store_subtrees(const Worker<V, K, P>& w, const QueuedTask& t, const SmallBlock* blocks) {
  if constexpr (has_tensor_cores<V, K>)
    store_subtrees_by_pairs(w, t, blocks);
  else
    store_subtrees_by_rows(w, t, blocks);
}

/// Workers: each warp takes the next small block and waits for its children, which come before it and do not wait for it.
template <class V, int K, int P>
__device__ __forceinline__ void multiply_subtrees(const Worker<V, K, P>& w, const QueuedTask& t) {
  const i32 count = t.end - t.first;
  const V* const values = reinterpret_cast<const V*>(w.memory);
  const i32* const program = w.program_of(t);
  const SmallBlock* const blocks = reinterpret_cast<const SmallBlock*>(program);
  for (i32 k = w.thread(); k < count; k += worker_threads) w.desk.waits_for[k] = blocks[k].children;
  if (w.thread() == 0) w.desk.taken = 0;
  meet_workers();
  while (true) {
    i32 k = 0;
    if (w.lane() == 0) k = atomicAdd(&w.desk.taken, 1);
    k = __shfl_sync(~0u, k, 0);
    if (k >= count) break;
    const SmallBlock b = blocks[k];
    while (*const_cast<volatile i32*>(&w.desk.waits_for[k]) > 0) {
    }
    __threadfence_block();
    if constexpr (has_tensor_cores<V, K>)
      forward_small_by_pairs(w, t, program, b, values);
    else
      forward_small(w, t, program, b, values);
    __threadfence_block();
    __syncwarp();
    if (w.lane() == 0 && b.parent >= 0) atomicSub(&w.desk.waits_for[b.parent], 1);
  }
  meet_workers();
}

/// Workers: the task in `slot`; false if a wait was lost. `a` is of this task, and then of the next one, which is looked at
/// while this one is multiplied. Values are told to be used as soon as they are.
template <class V, int K>
__device__ __forceinline__ bool carry_forward(const Worker<V, K>& w, int slot, Ahead<V, K>& a, u32& uses) {
  const QueuedTask& t = w.desk.task[slot];
  if (t.kind == Task::Kind::strips) {
    if (!carry_strips(w, slot, a, uses)) return false;
  } else {
    meet_workers();  // operands and products are anybody's, in this task and in those beside it
    load_columns(w, t);
    wait_for<Meeting::task_known>();
    look_ahead(w, slot ^ 1, a);
    w.desk.copy.wait(w.pieces_of(t), uses);
    multiply_subtrees(w, t);
    store_subtrees(w, t, reinterpret_cast<const SmallBlock*>(w.program_of(t)));
    come<Meeting::values_used>();
    meet_workers();
  }
  come<Meeting::task_done>();
  return true;
}

}  // namespace sordino::trsv
