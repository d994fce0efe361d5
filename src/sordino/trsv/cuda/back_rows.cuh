// Device code: what tasks of the way back read of others, and multiply.
#pragma once
#include "sordino/trsv/cuda/workers.cuh"

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
  y.load(true, (i < b.width ? w.pass.b : w.team.mine(w.s.x) + w.pass.x) + i64(row) * K);
}
/// b, or -x. False if that is not there yet.
template <class V, int K>
__device__ __forceinline__ bool store_front(const RowWords<V, K>& y, bool below, V* to) {
  V row[K];
  memcpy(row, y.words, sizeof row);
#pragma unroll
  for (int r = 0; r < K; r++) to[r] = below ? V{} - row[r] : row[r];
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

/// acc += two rows of a column times y of these rows.
template <class V, int K>
__device__ __forceinline__ void add_pair(const Worker<V, K>& w, const Pair<V>& p, const V (&y)[2][K], V (&acc)[2][K]) {
  const V a = w.factor_entry(p.a), b = w.factor_entry(p.b);
#pragma unroll
  for (int r = 0; r < K; r++) acc[0][r] = acc[0][r] + a * y[0][r], acc[1][r] = acc[1][r] + b * y[1][r];
}
template <class V, int K>
__device__ __forceinline__ void load_operands(const V* from, V (&y)[2][K]) {
#pragma unroll
  for (int r = 0; r < K; r++) y[0][r] = from[r], y[1][r] = from[K + r];
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
