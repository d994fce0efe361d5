// Device code: tasks on the way from the root to the leaves. Strips lie column by column: a thread adds up a column's part of
// them, and nothing is passed between lanes but at the end.
#pragma once
#include "sordino/trsv/cuda/backward_subtrees.cuh"

namespace sordino::trsv {

// --- parts -----------------------------------------------------------------------------------------------------------------

/// Columns that a thread adds up at once, if a block has so many.
template <class V, int K>
inline constexpr int columns_at_once = sizeof(V) * K > 16 ? 1 : 2;

/// Workers: products[share][column] of strips that are at hand, or more of them, of columns j, j + worker_threads, ....
template <int Q, class V, int K>
__device__ __forceinline__ void multiply_part(const Worker<V, K>& w, const QueuedTask& t, const Shares& s, i32 first, i32 end,
                                              i32 j) {
  const Block& b = t.block;
  V acc[Q][2][K] = {};
  const V* values = reinterpret_cast<const V*>(w.memory);
  const V* operand = w.operands() + i64(first - t.first) * b.strip_rows * K;
  for (i32 k = first; k < end; k++) {
    const Strip strip = strip_of(b, k);
    const V* const column = values + j * strip.lead;
    const int step = worker_threads * strip.lead;
    if (j + (Q - 1) * worker_threads < strip.columns)
      add_pairs(
          w, s.share, s.shares, (strip.rows + 1) / 2, acc,
          [&](int pair, V(&y)[2][K]) { load_operands<V, K>(operand + 2 * pair * K, y); },
          [&](int pair, int q) { return *reinterpret_cast<const Pair<V>*>(column + q * step + 2 * pair); });
    values += strip.size();
    operand += b.strip_rows * K;
  }
#pragma unroll
  for (int q = 0; q < Q; q++)
#pragma unroll
    for (int r = 0; r < K; r++) {
      V& product = w.products()[(i64(s.share) * b.width + j + q * worker_threads) * K + r];
      const V more = acc[q][0][r] + acc[q][1][r];
      product = first == t.first ? more : product + more;
    }
}
/// Workers: of all columns. Strips of own rows have fewer columns, so there a thread has one at a time.
template <class V, int K>
__device__ __forceinline__ void multiply_part(const Worker<V, K>& w, const QueuedTask& t, const Shares& s, i32 first, i32 end) {
  constexpr int Q = columns_at_once<V, K>;
  if (!s.busy()) return;
  i32 j = s.column;
  if (Q > 1 && first * t.block.strip_rows >= t.block.width)
    for (; j + (Q - 1) * worker_threads < t.block.width; j += Q * worker_threads) multiply_part<Q>(w, t, s, first, end, j);
  for (; j < t.block.width; j += worker_threads) multiply_part<1>(w, t, s, first, end, j);
}

/// The sum of all that share a column, in their order; four are on their way at once.
template <class V, int K>
__device__ __forceinline__ void add_products(const Worker<V, K>& w, int shares, i32 columns, i32 column, V (&sum)[K]) {
  constexpr int N = 4;
  for (int share = 0; share < shares; share += N)
#pragma unroll
    for (int r = 0; r < K; r++) {
      V of_share[N];
#pragma unroll
      for (int n = 0; n < N; n++) of_share[n] = w.products()[(i64(min(share + n, shares - 1)) * columns + column) * K + r];
#pragma unroll
      for (int n = 0; n < N; n++) sum[r] = sum[r] + (share + n < shares ? of_share[n] : V{});
    }
}

/// Workers: false if a wait is lost. `a` is of this task, and then of the next one, which is looked at while this one is
/// multiplied.
template <class V, int K>
__device__ __forceinline__ bool sum_part(const Worker<V, K>& w, int slot, AheadBack& a, u32& uses) {
  const QueuedTask& t = w.desk.task[slot];
  const Block& b = t.block;
  const Shares shares(w.thread(), b.width);
  w.await_numbers(t, a.need, [&] { return gather_rows(w, t, a, [] { return true; }); });
  if (w.desk.lost) return give_up(w, t, uses);
  w.stamp(t.id, &TaskTrace::began);
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
  i32 strip = t.first;
  for (int round = 0; round < t.rounds; round++) {
    w.desk.copy.wait(w.pieces_of(t, round), uses);
    const i32 end = min(strip + t.strips_of_round, t.end);
    multiply_part(w, t, shares, strip, end);
    strip = end;
    round + 1 < t.rounds ? wait_for<Meeting::values_used>() : come<Meeting::values_used>();
  }
  meet_workers();
  for (i32 j = w.thread(); j < b.width; j += worker_threads) {
    V sum[K] = {};
    add_products(w, shares.shares, b.width, j, sum);
    const i64 at = (t.partial + j) * K;
    store_row<V, K>(w.s.partials + w.pass.partials + at, sum);
    empty_row<V, K>(w.s.partials + w.pass.next_partials + at);
  }
  come<Meeting::task_done>();
  return true;
}

// --- columns ---------------------------------------------------------------------------------------------------------------

/// Sums over the near strips' pairs of rows share, share + shares, ... of a column.
template <class V, int K>
__device__ __forceinline__ void multiply_near(const Worker<V, K>& w, const QueuedTask& t, const Shares& s, V (&acc)[1][2][K]) {
  const FrontRows rows = rows_of(t);
  const int pairs_of_strip = t.block.strip_rows / 2, pairs = (rows.end - rows.first + 1) / 2;
  const int last = (pairs - 1) / pairs_of_strip, last_lead = (rows.end - rows.first - last * t.block.strip_rows + 1) & ~1;
  const u32 inverse = ~0u / u32(pairs_of_strip) + 1;  // for quotients without divisions and branches;
  const int one = pairs_of_strip == 1 ? -1 : 0;       //   that of 1 is 0
  add_pairs(
      w, s.share, s.shares, pairs, acc, [&](int pair, V(&y)[2][K]) { load_operands<V, K>(w.operands() + 2 * pair * K, y); },
      [&](int pair, int) {
        const int strip = int(__umulhi(u32(pair), inverse)) + (pair & one),
                  lead = strip < last ? t.block.strip_rows : last_lead;
        const V* const values = reinterpret_cast<const V*>(w.memory + strip * t.piece_bytes);
        return *reinterpret_cast<const Pair<V>*>(values + s.column * lead + 2 * (pair - strip * pairs_of_strip));
      });
}

/// A column's x, here and where it is read; the next pass finds its places empty.
template <class V, int K>
__device__ __forceinline__ void store_column(const Worker<V, K>& w, i32 column, i32 result, const V (&x)[K], u32 readers) {
  auto store = [&](V* all) {
    store_row<V, K>(all + w.pass.x + i64(column) * K, x);
    empty_row<V, K>(all + w.pass.next_x + i64(column) * K);
  };
  store(w.team.mine(w.s.x));
  for (u32 left = readers; left != 0; left &= left - 1) store(w.team.at(__ffs(int(left)) - 1, w.s.x));
  w.store_result(result, x);
}

/// One thread: acc becomes the sum of the parts of which it has a share. False if one is not there yet.
template <class V, int K>
__device__ __forceinline__ bool add_partials(const Worker<V, K>& w, const QueuedTask& t, const Shares& s, V (&acc)[K]) {
  constexpr int N = 2 * pairs_at_once<V, K>;
#pragma unroll
  for (int r = 0; r < K; r++) acc[r] = V{};
  const V* const partials = w.s.partials + w.pass.partials + (t.partial + t.first + s.column) * K;
  bool there = true;
#pragma unroll 1
  for (int first = s.share; first < t.parts && s.busy(); first += N * s.shares) {
    RowWords<V, K> sums[N];
#pragma unroll
    for (int n = 0; n < N; n++) {
      const int part = first + n * s.shares;
      sums[n].load(part < t.parts, partials + i64(part) * t.block.width * K);
    }
#pragma unroll
    for (int n = 0; n < N; n++) there = sums[n].is_there() && there, sums[n].add_to(acc);
  }
  return there;
}

/// Workers: x of columns, of which each thread has a share of the parts' sums and of the near rows. False if a wait is lost.
template <class V, int K>
__device__ __forceinline__ bool close_columns(const Worker<V, K>& w, int slot, AheadBack& a, u32& uses) {
  const QueuedTask& t = w.desk.task[slot];
  const i32 columns = t.end - t.first;
  const Shares s(w.thread(), columns);
  V acc[1][2][K] = {};
  w.await_numbers(t, a.need, [&] { return gather_rows(w, t, a, [&] { return add_partials(w, t, s, acc[0][0]); }); });
  if (w.desk.lost) return give_up(w, t, uses);
  w.stamp(t.id, &TaskTrace::began);
  const i32 result = a.result;
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
  if (t.value_bytes > 0) {
    w.desk.copy.wait(w.pieces_of(t), uses);
    if (s.busy()) multiply_near(w, t, s, acc);
  }
  come<Meeting::values_used>();
  if (s.busy())
#pragma unroll
    for (int r = 0; r < K; r++) w.products()[(i64(s.share) * columns + s.column) * K + r] = acc[0][0][r] + acc[0][1][r];
  meet_workers();
  if (w.thread() < columns) {
    V x[K] = {};
    add_products(w, s.shares, columns, w.thread(), x);
    store_column(w, t.block.column + t.first + w.thread(), result, x, t.readers);
  }
  come<Meeting::task_done>();
  return true;
}

/// Workers: the task in `slot`. False if a wait is lost; then nothing is on its way to the block.
template <class V, int K>
__device__ bool carry_back(const Worker<V, K>& w, int slot, AheadBack& a, u32& uses) {
  switch (w.desk.task[slot].kind) {
    case Task::Kind::strips: return sum_part(w, slot, a, uses);
    case Task::Kind::columns: return close_columns(w, slot, a, uses);
    default: return back_subtrees(w, slot, a, uses);
  }
}

}  // namespace sordino::trsv
