// Device code: tasks on the way from the leaves to the root.
#pragma once
#include "sordino/trsv/cuda/pair_subtrees.cuh"

namespace sordino::trsv {

/// Lanes that share two rows of a block with so many columns: a power of two.
__device__ __forceinline__ int lanes_for(i32 width) {
  return width >= 128 ? 32 : width >= 64 ? 16 : width >= 32 ? 8 : width >= 16 ? 4 : width >= 8 ? 2 : 1;
}

// --- strips ----------------------------------------------------------------------------------------------------------------

/// What a thread knows of a column of b before it waits.
template <class V, int K>
struct ColumnAhead {
  RowSources sources;
  V b[K];
};

/// Columns and rows that a thread has; if a block is wider, it looks at the others when it needs them.
inline constexpr int columns_of_thread = 2, rows_of_thread = 2;

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
  load_b(w, b.column + j, a.b);
}

/// Workers, for the task in `slot`, if there is one. Nothing that it loads is waited for here.
template <class V, int K>
__device__ __forceinline__ void look_ahead(const Worker<V, K>& w, int slot, Ahead<V, K>& a) {
  if (w.desk.ticket[slot] >= u32(w.s.count)) return;
  const QueuedTask& t = w.desk.task[slot];
  a.need = w.first_need(t);
  if (t.kind != Task::Kind::strips) return;
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

/// Rows of a front whose sums a thread fetches at once.
template <class V, int K>
inline constexpr int rows_fetched_at_once = sizeof(V) * K <= 8 ? columns_of_thread + rows_of_thread : 1;

/// One thread: the sums of rows of a front; nothing for rows that are not `wanted`. False if a number is not there yet.
template <class V, int K, int N>
__device__ __forceinline__ bool gather(const Worker<V, K>& w, const RowSources (&from)[N], const bool (&wanted)[N],
                                       V (&sums)[N][K]) {
  constexpr int at_once = N % rows_fetched_at_once<V, K> == 0 ? rows_fetched_at_once<V, K> : 1;
  bool there = true;
#pragma unroll
  for (int first = 0; first < N; first += at_once) {
    i32 slots[2 * at_once];
    RowWords<V, K> found[2 * at_once];
#pragma unroll
    for (int n = 0; n < at_once; n++) {
      const RowSources& of = from[first + n];
      slots[2 * n] = wanted[first + n] && of.count > 0 ? of.first : -1;
      slots[2 * n + 1] = wanted[first + n] && of.count > 1 ? of.second : -1;
    }
    there = w.load_sums(slots, found) && there;
#pragma unroll
    for (int n = 0; n < at_once; n++) {
#pragma unroll
      for (int r = 0; r < K; r++) sums[first + n][r] = V{};
      found[2 * n].add_to(sums[first + n]);
      found[2 * n + 1].add_to(sums[first + n]);
      if (wanted[first + n]) there = w.add_more_sources(from[first + n], sums[first + n]) && there;
    }
  }
  return there;
}

/// Workers: the operand of a task's product, and the sums that its rows below have so far. False if a number of this thread's
/// is not there yet.
template <class V, int K>
__device__ __forceinline__ bool gather_sums(const Worker<V, K>& w, const Block& b, i32 first_row, i32 end, const Ahead<V, K>& a,
                                            V (&of_rows)[rows_of_thread][K]) {
  constexpr int C = columns_of_thread, R = rows_of_thread;
  RowSources from[C + R];
  bool wanted[C + R];
  V sums[C + R][K];
#pragma unroll
  for (int q = 0; q < C; q++) from[q] = a.columns[q].sources, wanted[q] = w.thread() + q * worker_threads < b.width;
#pragma unroll
  for (int q = 0; q < R; q++) {
    const i32 i = first_row + w.thread() + q * worker_threads;
    from[C + q] = a.below[q], wanted[C + q] = i < end && i >= b.width;
  }
  bool there = gather(w, from, wanted, sums);
#pragma unroll
  for (int q = 0; q < C; q++)
#pragma unroll
    for (int r = 0; r < K; r++)
      if (wanted[q]) w.operands()[(w.thread() + q * worker_threads) * K + r] = told(a.columns[q].b[r]) - sums[q][r];
#pragma unroll
  for (int q = 0; q < R; q++)
#pragma unroll
    for (int r = 0; r < K; r++) of_rows[q][r] = sums[C + q][r];
  for (i32 j = w.thread() + C * worker_threads; j < b.width; j += worker_threads) {  // of a wider block
    ColumnAhead<V, K> column;
    look_at_column(w, b, j, column);
    const RowSources of_column[1] = {column.sources};
    const bool always[1] = {true};
    V sum[1][K];
    there = gather(w, of_column, always, sum) && there;
#pragma unroll
    for (int r = 0; r < K; r++) w.operands()[j * K + r] = told(column.b[r]) - sum[0][r];
  }
  return there;
}

/// Sums over a strip's columns share, share + lanes, ... of two rows.
template <class V, int K>
__device__ __forceinline__ void multiply_pair(const V* values, const Strip& strip, int pair, const V* operand, int share,
                                              int lanes, V (&acc)[2][K]) {
#pragma unroll 8
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

/// Every lane then has the sums of all that share its rows.
template <class V, int K>
__device__ __forceinline__ void add_shares(int lanes, V (&acc)[2][K]) {
  for (int other = 1; other < lanes; other *= 2)
#pragma unroll
    for (int r = 0; r < K; r++) {
      acc[0][r] = acc[0][r] + shuffle_xor(acc[0][r], other);
      acc[1][r] = acc[1][r] + shuffle_xor(acc[1][r], other);
    }
}

/// Strips times operand. Pairs of rows are dealt to all lanes of all warps at once: as many lanes share one as
/// leave nothing for a second round, for what takes time is a chain of shuffles.
template <class V, int K>
__device__ void multiply_by_lanes(const Worker<V, K>& w, const QueuedTask& t) {
  const Block& b = t.block;
  const int pairs_of_strip = b.strip_rows / 2, strips = t.end - t.first, pairs = pairs_of_strip * strips;
  int lanes = 1;
  while (lanes < 32 && 2 * lanes * pairs <= worker_threads && 4 * lanes <= b.width) lanes *= 2;
  const int share = w.lane() & (lanes - 1);
  for (int first = w.warp() * (32 / lanes); first < pairs; first += worker_threads / lanes) {
    const int at = first + w.lane() / lanes, of_strip = at / pairs_of_strip, pair = at - of_strip * pairs_of_strip;
    const V* values = reinterpret_cast<const V*>(w.memory);
    for (int k = 0; k < of_strip && at < pairs; k++) values += strip_of(b, t.first + k).size();
    const Strip strip = strip_of(b, t.first + of_strip);
    V acc[2][K] = {};
    const bool some = at < pairs && 2 * pair < strip.rows;
    if (some) multiply_pair<V, K>(values, strip, pair, w.operands(), share, lanes, acc);
    add_shares(lanes, acc);
    if (!some || share != 0) continue;
    V* const product = w.products() + (i64(of_strip) * b.strip_rows + 2 * pair) * K;
#pragma unroll
    for (int r = 0; r < K; r++) {
      product[r] = acc[0][r];
      if (2 * pair + 1 < strip.rows) product[K + r] = acc[1][r];
    }
  }
}

/// Strips times operand.
template <class V, int K>
__device__ __forceinline__ void multiply_strips(const Worker<V, K>& w, const QueuedTask& t) {
  if constexpr (has_tensor_cores<V, K>)
    multiply_by_tensor_cores(w, t);
  else
    multiply_by_lanes(w, t);
}

/// What a thread has of a task's rows between product and store.
template <class V, int K>
struct RowsInHand {
  V sums[rows_of_thread][K];
  i32 result[rows_of_thread];
};

/// Workers: results, and sums for rows below.
template <class V, int K>
__device__ __forceinline__ void store(const Worker<V, K>& w, const QueuedTask& t, RowsInHand<V, K>& rows) {
  const Block& b = t.block;
  const i32 first_row = t.first * b.strip_rows, end = min(t.end * b.strip_rows, b.front);
#pragma unroll
  for (int q = 0; q < rows_of_thread; q++) {
    const i32 i = first_row + w.thread() + q * worker_threads;
    if (i >= end) continue;
    const V* const product = w.products() + i64(i - first_row) * K;
    if (i < b.width) {
      w.store_result(rows.result[q], product);
    } else {
#pragma unroll
      for (int r = 0; r < K; r++) rows.sums[q][r] = rows.sums[q][r] + product[r];
      w.store_sums(b.slot + i - b.width, rows.sums[q], t.readers);
    }
  }
}

// --- subtrees --------------------------------------------------------------------------------------------------------------

/// One warp: rows of a strip, two at a time by `lanes` lanes. `take(row, product)` is called by one lane for each row.
template <class V, int K, class Take>
__device__ __forceinline__ void multiply_strip(const V* values, const Strip& strip, const V* operand, int lanes,
                                               const Take& take) {
  const int lane = int(threadIdx.x) % 32, share = lane & (lanes - 1), pairs = (strip.rows + 1) / 2;
  for (int first = 0; first < pairs; first += 32 / lanes) {
    const int pair = first + lane / lanes;
    V acc[2][K] = {};
    if (pair < pairs) multiply_pair<V, K>(values, strip, pair, operand, share, lanes, acc);
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
  const int lanes = lanes_for(b.width);
  values += b.values;
  for (i32 k = 0; k < shape.strips(); k++) {
    const Strip strip = strip_of(shape, k);
    multiply_strip<V, K>(values, strip, operand, lanes, [&](i32 in_strip, V(&acc)[K]) {
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
__device__ __forceinline__ bool carry_forward(const Worker<V, K>& w, int slot, Ahead<V, K>& a, u32& uses, u64& began) {
  const QueuedTask& t = w.desk.task[slot];
  const bool is_strips = t.kind == Task::Kind::strips;
  RowsInHand<V, K> rows;
  if (is_strips) {
    const i32 first_row = t.first * t.block.strip_rows, end = min(t.end * t.block.strip_rows, t.block.front);
    w.await_numbers(t, a.need, [&] { return gather_sums(w, t.block, first_row, end, a, rows.sums); });
    began = w.clock();
#pragma unroll
    for (int q = 0; q < rows_of_thread; q++) rows.result[q] = a.result[q];
  } else {
    load_columns(w, t);
  }
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
  w.desk.copy.wait(w.pieces_of(t), uses);
  if (is_strips) {
    multiply_strips(w, t);
    meet_workers();
    if (w.desk.lost) return false;
    come<Meeting::values_used>();
    store(w, t, rows);
  } else {
    multiply_subtrees(w, t);
    store_subtrees(w, t, reinterpret_cast<const SmallBlock*>(w.program_of(t)));
    come<Meeting::values_used>();
  }
  come<Meeting::task_done>();
  return true;
}

}  // namespace sordino::trsv
