// Device code: what tasks of strips read of others on the way from the leaves to the root.
#pragma once
#include "sordino/trsv/cuda/workers.cuh"

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

/// Of row i of a task's front.
template <class V, int K>
__device__ __forceinline__ RowSources sources_of(const Worker<V, K>& w, const QueuedTask& t, i32 i) {
  if (t.sums_in_row >= 0) return {.count = 1, .first = t.sums_in_row + i};
  return w.s.row_sources[t.block.source + i];
}

template <class V, int K>
__device__ __forceinline__ void look_at_column(const Worker<V, K>& w, const QueuedTask& t, i32 j, ColumnAhead<V, K>& a) {
  a.sources = sources_of(w, t, j);
#pragma unroll
  for (int r = 0; r < K; r++) a.b[r] = w.b(t.block.column + j, r);
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
    if (const i32 j = w.thread() + q * worker_threads; j < b.width) look_at_column(w, t, j, a.columns[q]);
#pragma unroll
  for (int q = 0; q < rows_of_thread; q++)
    if (const i32 i = first_row + w.thread() + q * worker_threads; i < end) {
      a.below[q] = sources_of(w, t, i);
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

/// Further columns of a thread whose sums and b come together with those of the first ones, where sums lie in a row: as many as
/// the widest blocks of a chain have (most_columns_of_chain).
template <class V, int K>
inline constexpr int more_columns = sizeof(V) * K <= 8 ? 2 : 0;

/// One thread: its columns from the columns_of_thread-th on, of a block whose sums lie in a row.
template <class V, int K>
struct MoreColumns {
  static constexpr int N = more_columns<V, K>;
  RowWords<V, K> sums[N > 0 ? N : 1];
  V b[N > 0 ? N : 1][K];

  __device__ static i32 column(const Worker<V, K>& w, int n) { return w.thread() + (columns_of_thread + n) * worker_threads; }
  /// Nothing that it loads is waited for here.
  __device__ __forceinline__ void load(const Worker<V, K>& w, const QueuedTask& t) {
    const V* const all = w.team.mine(w.s.sums) + w.pass.sums;
#pragma unroll
    for (int n = 0; n < N; n++) {
      const i32 j = column(w, n);
      const bool is = t.sums_in_row >= 0 && j < t.block.width;
      sums[n].load(is, all + i64(is ? t.sums_in_row + j : 0) * K);
#pragma unroll
      for (int r = 0; r < K; r++) b[n][r] = is ? w.b(t.block.column + j, r) : V{};
    }
  }
  /// False if a sum is not there yet.
  __device__ __forceinline__ bool store(const Worker<V, K>& w, const QueuedTask& t) const {
    bool there = true;
#pragma unroll
    for (int n = 0; n < N; n++) {
      const i32 j = column(w, n);
      if (t.sums_in_row < 0 || j >= t.block.width) continue;
      V sum[K] = {};
      sums[n].add_to(sum);
#pragma unroll
      for (int r = 0; r < K; r++) w.operands()[j * K + r] = b[n][r] - sum[r];
      there = there && sums[n].is_there();
    }
    return there;
  }
};

/// Workers: the operand of a task's product, and the sums that its rows below have so far. False if a number of this thread's
/// is not there yet.
template <class V, int K>
__device__ __forceinline__ bool gather_sums(const Worker<V, K>& w, const QueuedTask& t, i32 first_row, i32 end,
                                            const Ahead<V, K>& a, V (&of_rows)[rows_of_thread][K]) {
  constexpr int C = columns_of_thread, R = rows_of_thread;
  const Block& b = t.block;
  MoreColumns<V, K> more;
  more.load(w, t);
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
  there = more.store(w, t) && there;
#pragma unroll
  for (int q = 0; q < C; q++)
#pragma unroll
    for (int r = 0; r < K; r++)
      if (wanted[q]) w.operands()[(w.thread() + q * worker_threads) * K + r] = a.columns[q].b[r] - sums[q][r];
#pragma unroll
  for (int q = 0; q < R; q++)
#pragma unroll
    for (int r = 0; r < K; r++) of_rows[q][r] = sums[C + q][r];
  const int at_hand = C + (t.sums_in_row >= 0 ? more_columns<V, K> : 0);
  for (i32 j = w.thread() + at_hand * worker_threads; j < b.width; j += worker_threads) {  // of a wider block
    ColumnAhead<V, K> column;
    look_at_column(w, t, j, column);
    const RowSources of_column[1] = {column.sources};
    const bool always[1] = {true};
    V sum[1][K];
    there = gather(w, of_column, always, sum) && there;
#pragma unroll
    for (int r = 0; r < K; r++) w.operands()[j * K + r] = column.b[r] - sum[0][r];
  }
  return there;
}

}  // namespace sordino::trsv
