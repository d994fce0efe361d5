// Device code: what tasks of the way back read of others, and multiply.
#pragma once
#include "sordino/trsv/cuda/right_hand_sides.cuh"

namespace sordino::trsv {

/// Rows of a task that a thread has; if there are more, it looks at the others when it needs them.
inline constexpr int back_rows_of_thread = 3;

/// What a thread knows of a task before it waits.
struct AheadBack {
  i32 rows[back_rows_of_thread];  // columns of the blocks
  i32 result;                     // row of the caller's
  i32 need;
};

/// Rows of a block's front.
struct FrontRows {
  i32 first, end;
};

/// Those that a part, or columns, multiply.
__device__ __forceinline__ FrontRows rows_of(const QueuedTask& t) {
  const StripRange strips = t.kind == Task::Kind::columns ? t.near : StripRange{t.first, t.end};
  return {strips.first * t.block.strip_rows, min(strips.end * t.block.strip_rows, t.block.front)};
}

/// Workers, for the task in `slot`, if there is one. Nothing that it loads is waited for here.
template <class V, int K>
__device__ __forceinline__ void look_ahead(const Worker<V, K>& w, int slot, AheadBack& a) {
  if (w.desk.ticket[slot] >= u32(w.s.count)) return;
  const QueuedTask& t = w.desk.task[slot];
  a.need = w.first_need(t);
  if (t.kind == Task::Kind::subtrees) return;
  const FrontRows rows = rows_of(t);
#pragma unroll
  for (int q = 0; q < back_rows_of_thread; q++)
    if (const i32 i = rows.first + w.thread() + q * worker_threads; i < rows.end) a.rows[q] = w.s.rows[t.block.rows + i];
  if (t.kind == Task::Kind::columns && w.thread() < t.end - t.first)
    a.result = w.s.order[t.block.column + t.first + w.thread()];
}

/// b of an own row i of a front, or x of one below, which is column `row` of the blocks.
template <class V, int K>
__device__ __forceinline__ void load_front(const Worker<V, K>& w, const Block& b, i32 i, i32 row, RowWords<V, K>& y) {
  if (w.pass.order && i < b.width) return load_b(w, row, y);
  y.load(true, (i < b.width ? w.pass.b : w.team.mine(w.s.x) + w.pass.x) + i64(row) * K);
}
/// b, or -x. False if that is not there yet.
template <class V, int K>
__device__ __forceinline__ bool store_front(const RowWords<V, K>& y, bool below, V* to) {
  V row[K];
  memcpy(row, y.words, sizeof row);
#pragma unroll
  for (int r = 0; r < K; r++) to[r] = below ? V{} - row[r] : told(row[r]);
  return !below || y.is_there();
}

/// Workers: operands are a task's rows, and a zero behind them. `meanwhile` is called when loads are on their way. False if a
/// number of this thread's is not there yet.
template <class V, int K, class Meanwhile>
__device__ __forceinline__ bool gather_rows(const Worker<V, K>& w, const QueuedTask& t, const AheadBack& a,
                                            const Meanwhile& meanwhile) {
  const Block& b = t.block;
  const FrontRows rows = rows_of(t);
  auto store = [&](i32 i, const RowWords<V, K>& y) {
    return store_front(y, i >= b.width, w.operands() + i64(i - rows.first) * K);
  };
  RowWords<V, K> y[back_rows_of_thread];
#pragma unroll
  for (int q = 0; q < back_rows_of_thread; q++)
    if (const i32 i = rows.first + w.thread() + q * worker_threads; i < rows.end) load_front(w, b, i, a.rows[q], y[q]);
  bool there = meanwhile();
#pragma unroll
  for (int q = 0; q < back_rows_of_thread; q++)
    if (const i32 i = rows.first + w.thread() + q * worker_threads; i < rows.end) there = store(i, y[q]) && there;
  for (i32 i = rows.first + w.thread() + back_rows_of_thread * worker_threads; i < rows.end; i += worker_threads) {
    load_front(w, b, i, w.s.rows[b.rows + i], y[0]);
    there = store(i, y[0]) && there;
  }
  if (w.thread() < K) w.operands()[i64(rows.end - rows.first) * K + w.thread()] = V{};
  return there;
}

/// y of two rows, the first of which is an even one, by the largest loads that there are.
template <class V, int K>
__device__ __forceinline__ void load_operands(const V* from, V (&y)[2][K]) {
#pragma unroll
  for (int k = 0; k < K; k++) {
    const Pair<V> pair = reinterpret_cast<const Pair<V>*>(from)[k];
    y[2 * k / K][2 * k % K] = pair.a;
    y[(2 * k + 1) / K][(2 * k + 1) % K] = pair.b;
  }
}

/// Pairs of rows whose loads are on their way before one is waited for.
template <class V, int K>
inline constexpr int pairs_at_once = sizeof(V) * K <= 8    ? 4
                                     : sizeof(V) * K <= 32 ? 2
                                                           : 1;

/// acc[q] += column q's values of pairs `first`, first + step, ... times y of their rows: `all`, or those before `end`. No
/// branch lies between loads: where there is no pair, `first` is loaded once more and counts as zero. rows(pair, y) and
/// values(pair, q) load.
template <bool all, class V, int K, int Q, class Rows, class Values>
__device__ __forceinline__ void add_some_pairs(const Worker<V, K>& w, int first, int step, int end, V (&acc)[Q][2][K],
                                               const Rows& rows, const Values& values) {
  constexpr int N = pairs_at_once<V, K>;
  Pair<V> p[N][Q];
  V y[N][2][K];
#pragma unroll
  for (int n = 0; n < N; n++) {
    const int pair = all || first + n * step < end ? first + n * step : first;
    rows(pair, y[n]);
#pragma unroll
    for (int q = 0; q < Q; q++) p[n][q] = values(pair, q);
  }
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int q = 0; q < Q; q++) {
      const bool is = all || first + n * step < end;
      const V a = is ? w.factor_entry(p[n][q].a) : V{}, b = is ? w.factor_entry(p[n][q].b) : V{};
#pragma unroll
      for (int r = 0; r < K; r++) {
        acc[q][0][r] = acc[q][0][r] + a * y[n][0][r];
        acc[q][1][r] = acc[q][1][r] + b * y[n][1][r];
      }
    }
}
/// Of pairs first, first + step, ..., before `end`.
template <class V, int K, int Q, class Rows, class Values>
__device__ __forceinline__ void add_pairs(const Worker<V, K>& w, int first, int step, int end, V (&acc)[Q][2][K],
                                          const Rows& rows, const Values& values) {
  constexpr int N = pairs_at_once<V, K>;
  int at = first;
#pragma unroll 1
  for (; at + (N - 1) * step < end; at += N * step) add_some_pairs<true>(w, at, step, end, acc, rows, values);
  if (N > 1 && at < end) add_some_pairs<false>(w, at, step, end, acc, rows, values);
}

/// How threads share columns, if these are fewer: the share-th of `shares` that have the same column.
struct Shares {
  int shares, share, column;
  __device__ Shares(int thread, i32 columns) {
    shares = columns < worker_threads ? worker_threads / columns : 1;
    share = columns < worker_threads ? thread / columns : 0;
    column = thread - share * columns;
  }
  __device__ bool busy() const { return share < shares; }
};

/// Workers that have lost a wait. Nothing may be on its way to a block that ends.
template <class V, int K>
__device__ __forceinline__ bool give_up(const Worker<V, K>& w, const QueuedTask& t, u32& uses) {
  if (t.value_bytes > 0) w.desk.copy.wait(w.pieces_of(t), uses);
  return false;
}

}  // namespace sordino::trsv
