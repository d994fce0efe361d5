// Device code: strips of rows on the way from the leaves to the root. What takes time at the ends of a solve is the way from
// numbers of one task to those of the next; so a thread has looked at all that a task is before it waits for numbers, and two
// rows belong to a few neighbouring lanes from the first sum to the store.
#pragma once
#include "sordino/trsv/cuda/right_hand_sides.cuh"
#include "sordino/trsv/cuda/tensor_cores.cuh"

namespace sordino::trsv {

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

/// The q-th row of the front that a thread has of a task's strips: it gathers the row's sums and stores them. As many as the
/// front has, or more, if there is none.
template <class V, int K>
__device__ __forceinline__ i32 row_of_thread(const Worker<V, K>& w, const QueuedTask& t, int q) {
  const i32 first = t.first * t.block.strip_rows, end = min(t.end * t.block.strip_rows, t.block.front);
  i32 row = first + w.thread() + q * worker_threads;
  if constexpr (!has_tensor_cores<V, K>) {
    const bool is_first = (w.thread() & ((1 << t.lanes_log) - 1)) == 0;
    row = is_first ? first + 2 * (w.thread() >> t.lanes_log) + q : end;
  }
  return row < end ? row : t.block.front;
}

/// Workers, for the task in `slot`, if there is one. Nothing that it loads is waited for here.
template <class V, int K>
__device__ __forceinline__ void look_ahead(const Worker<V, K>& w, int slot, Ahead<V, K>& a) {
  if (w.desk.ticket[slot] >= u32(w.s.count)) return;
  const QueuedTask& t = w.desk.task[slot];
  a.need = w.first_need(t);
  if (t.kind != Task::Kind::strips) return;
  const Block& b = t.block;
#pragma unroll
  for (int q = 0; q < columns_of_thread; q++)
    if (const i32 j = w.thread() + q * worker_threads; j < b.width) look_at_column(w, b, j, a.columns[q]);
#pragma unroll
  for (int q = 0; q < rows_of_thread; q++)
    if (const i32 i = row_of_thread(w, t, q); i < b.front) {
      a.below[q] = w.s.row_sources[b.source + i];
      if (i < b.width) a.result[q] = w.s.order[b.column + i];
    }
}

/// Rows of a front whose sums a thread fetches at once.
template <class V, int K>
inline constexpr int rows_fetched_at_once = sizeof(V) * K <= 8 ? columns_of_thread + rows_of_thread : 1;

/// One thread: the sums of rows of a front; nothing for rows that are not `wanted`. False if a number is not there yet; where
/// it `waits` that may be the third one of a row, or a later one, or a wait was lost.
template <class V, int K, int N>
__device__ __forceinline__ bool gather(const Worker<V, K>& w, const RowSources (&from)[N], const bool (&wanted)[N], bool waits,
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
    there = w.load_sums(slots, found, waits) && there;
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

/// Where the operand of the strips in `slot` is. Two tasks' operands lie apart where no worker waits for the others when it has
/// multiplied.
template <class V, int K>
__device__ __forceinline__ V* operand_of(const Worker<V, K>& w, int slot) {
  return !has_tensor_cores<V, K> && slot == 1 ? w.products() : w.operands();
}

/// Workers: the operand of a task's product, and the sums that its rows below have so far. False if a number of this thread's
/// is not there: for those of urgent tasks a thread waits here, number by number, and no flag is looked at. By tensor cores
/// that costs registers, and is no faster.
template <class V, int K>
__device__ __forceinline__ bool gather_sums(const Worker<V, K>& w, const QueuedTask& t, const Ahead<V, K>& a, V* operand,
                                            V (&of_rows)[rows_of_thread][K]) {
  constexpr int C = columns_of_thread, R = rows_of_thread;
  const Block& b = t.block;
  const bool waits = !has_tensor_cores<V, K> && t.is_urgent != 0;
  RowSources from[C + R];
  bool wanted[C + R];
  V sums[C + R][K];
#pragma unroll
  for (int q = 0; q < C; q++) from[q] = a.columns[q].sources, wanted[q] = w.thread() + q * worker_threads < b.width;
#pragma unroll
  for (int q = 0; q < R; q++) {
    const i32 i = row_of_thread(w, t, q);
    from[C + q] = a.below[q], wanted[C + q] = i < b.front && i >= b.width;
  }
  bool there = gather(w, from, wanted, waits, sums);
#pragma unroll
  for (int q = 0; q < C; q++)
#pragma unroll
    for (int r = 0; r < K; r++)
      if (wanted[q]) operand[(w.thread() + q * worker_threads) * K + r] = told(a.columns[q].b[r]) - sums[q][r];
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
    there = gather(w, of_column, always, waits, sum) && there;
#pragma unroll
    for (int r = 0; r < K; r++) operand[j * K + r] = told(column.b[r]) - sum[0][r];
  }
  return there;
}

// --- products by lanes -----------------------------------------------------------------------------------------------------

/// Sums over `columns` of a strip, share, share + lanes, ..., of two rows, of which `values` are those of the first such
/// column, and `operand` likewise. Several columns are on their way at once.
template <class V, int K>
__device__ __forceinline__ void multiply_pair(const V* values, i32 lead, const V* operand, int share, int lanes, i32 columns,
                                              V (&acc)[2][K]) {
  constexpr int N = sizeof(V) * K <= 8 ? 4 : 2;
  const i32 step = lanes * lead;
  auto add = [&](const Pair<V>& p, const V* of_column) {
#pragma unroll
    for (int r = 0; r < K; r++) {
      acc[0][r] = acc[0][r] + p.a * of_column[r];
      acc[1][r] = acc[1][r] + p.b * of_column[r];
    }
  };
  i32 j = share;
#pragma unroll 2
  for (; j + (N - 1) * lanes < columns; j += N * lanes) {
    Pair<V> p[N];
    V v[N][K];
#pragma unroll
    for (int n = 0; n < N; n++) {
      p[n] = *reinterpret_cast<const Pair<V>*>(values + n * step);
#pragma unroll
      for (int r = 0; r < K; r++) v[n][r] = operand[n * lanes * K + r];
    }
#pragma unroll
    for (int n = 0; n < N; n++) add(p[n], v[n]);
    values += N * step, operand += N * lanes * K;
  }
#pragma unroll 1
  for (; j < columns; j += lanes) {
    add(*reinterpret_cast<const Pair<V>*>(values), operand);
    values += step, operand += lanes * K;
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

/// Two rows of a task's strips and the columns of which a lane has a share, found before there is anything to be multiplied.
struct PairOfLane {
  i32 first, lead, columns;  // of the task's values the one to begin with; behind it others of its column; of the strip
  int share, lanes;
};
template <class V, int K>
__device__ __forceinline__ PairOfLane pair_of_lane(const Worker<V, K>& w, const QueuedTask& t) {
  const Block& b = t.block;
  const int lanes = 1 << t.lanes_log, share = w.thread() & (lanes - 1), pairs_of_strip = b.strip_rows / 2;
  int pair = w.thread() >> t.lanes_log;
  i32 k = t.first, first = 0;
  for (; pair >= pairs_of_strip && k < t.end; k++, pair -= pairs_of_strip) first += i32(strip_of(b, k).size());
  if (k == t.end) return {0, 0, 0, share, lanes};
  const Strip strip = strip_of(b, k);
  return {first + share * strip.lead + 2 * pair, strip.lead, 2 * pair < strip.rows ? strip.columns : 0, share, lanes};
}

// --- what a task ends with -------------------------------------------------------------------------------------------------

/// What a thread has of its rows of a task until they are stored.
template <class V, int K>
struct RowsInHand {
  V sums[rows_of_thread][K];
  i32 result[rows_of_thread];
};

/// One thread: of its q-th row the result, or the sum for a row below.
template <class V, int K>
__device__ __forceinline__ void store_row_of_thread(const Worker<V, K>& w, const QueuedTask& t, int q, const V* product,
                                                    RowsInHand<V, K>& rows) {
  const Block& b = t.block;
  const i32 i = row_of_thread(w, t, q);
  if (i >= b.front) return;
  if (i < b.width) return w.store_result(rows.result[q], product);
#pragma unroll
  for (int r = 0; r < K; r++) rows.sums[q][r] = rows.sums[q][r] + product[r];
  w.store_sums(b.slot + i - b.width, rows.sums[q], t.readers);
}

/// Workers: strips times operand, which are there, and what becomes of it. `used` is called when the values have been read.
template <class V, int K, class Used>
__device__ __forceinline__ void finish_by_lanes(const Worker<V, K>& w, const QueuedTask& t, const PairOfLane& p,
                                                const V* operand, RowsInHand<V, K>& rows, const Used& used) {
  V acc[2][K] = {};
  multiply_pair<V, K>(reinterpret_cast<const V*>(w.memory) + p.first, p.lead, operand + p.share * K, p.share, p.lanes,
                      p.columns, acc);
  used();
  add_shares(p.lanes, acc);
#pragma unroll
  for (int q = 0; q < rows_of_thread; q++) store_row_of_thread(w, t, q, acc[q], rows);
}
template <class V, int K, class Used>
__device__ __forceinline__ void finish_by_tensor_cores(const Worker<V, K>& w, const QueuedTask& t, RowsInHand<V, K>& rows,
                                                       const Used& used) {
  multiply_by_tensor_cores(w, t);
  meet_workers();
  used();
#pragma unroll
  for (int q = 0; q < rows_of_thread; q++)
    store_row_of_thread(w, t, q, w.products() + i64(w.thread() + q * worker_threads) * K, rows);
}

/// Workers: the strips in `slot`; see carry_forward().
template <class V, int K>
__device__ __forceinline__ bool carry_strips(const Worker<V, K>& w, int slot, Ahead<V, K>& a, u32& uses) {
  const QueuedTask& t = w.desk.task[slot];
  PairOfLane pair;
  if constexpr (!has_tensor_cores<V, K>) pair = pair_of_lane(w, t);
  V* const operand = operand_of(w, slot);
  RowsInHand<V, K> rows;
#pragma unroll
  for (int q = 0; q < rows_of_thread; q++) rows.result[q] = a.result[q];
  w.await_numbers(t, a.need, [&] { return gather_sums(w, t, a, operand, rows.sums); });
  w.stamp(t.id, &TaskTrace::began);
  const bool is_urgent = t.is_urgent != 0;
  auto prepare_next = [&] {
    wait_for<Meeting::task_known>();
    look_ahead(w, slot ^ 1, a);
  };
  if (!is_urgent) prepare_next();
  w.desk.copy.wait(w.pieces_of(t), uses);
  if (w.desk.lost) return false;
  w.stamp(t.id, &TaskTrace::came);
  auto used = [&] {
    come<Meeting::values_used>();
    w.stamp(t.id, &TaskTrace::multiplied);
  };
  if constexpr (has_tensor_cores<V, K>)
    finish_by_tensor_cores(w, t, rows, used);
  else
    finish_by_lanes(w, t, pair, operand, rows, used);
  if (is_urgent) prepare_next();  // others wait for this one
  return true;
}

}  // namespace sordino::trsv
