// Device code: tasks on the way from the root to the leaves. Strips lie column by column: a thread adds up a column's part of
// them, and nothing is passed between lanes but at the end.
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

/// b of an own row i of a front, or -x of one below, which is column `row` of the blocks.
template <class V, int K>
__device__ __forceinline__ void load_front(const Worker<V, K>& w, const Block& b, i32 i, i32 row, V (&y)[K]) {
  load_row<V, K>((i < b.width ? w.pass.b : w.team.mine(w.s.x)) + i64(row) * K, y);
  if (i < b.width) return;
#pragma unroll
  for (int r = 0; r < K; r++) y[r] = V{} - y[r];
}

/// Workers: operands are a task's rows, and a zero behind them. `meanwhile` is called when loads are on their way.
template <class V, int K, class Meanwhile>
__device__ __forceinline__ void gather_rows(const Worker<V, K>& w, const QueuedTask& t, const AheadBack& a,
                                            const Meanwhile& meanwhile) {
  const Block& b = t.block;
  const FrontRows rows = rows_of(t);
  auto store = [&](i32 i, const V(&y)[K]) {
#pragma unroll
    for (int r = 0; r < K; r++) w.operands()[i64(i - rows.first) * K + r] = y[r];
  };
  V y[back_rows_of_thread][K];
#pragma unroll
  for (int q = 0; q < back_rows_of_thread; q++)
    if (const i32 i = rows.first + w.thread() + q * worker_threads; i < rows.end) load_front(w, b, i, a.rows[q], y[q]);
  meanwhile();
#pragma unroll
  for (int q = 0; q < back_rows_of_thread; q++)
    if (const i32 i = rows.first + w.thread() + q * worker_threads; i < rows.end) store(i, y[q]);
  for (i32 i = rows.first + w.thread() + back_rows_of_thread * worker_threads; i < rows.end; i += worker_threads) {
    load_front(w, b, i, w.s.rows[b.rows + i], y[0]);
    store(i, y[0]);
  }
  if (w.thread() < K) w.operands()[i64(rows.end - rows.first) * K + w.thread()] = V{};
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

// --- parts -----------------------------------------------------------------------------------------------------------------

/// Columns that a thread adds up at once.
template <class V, int K>
inline constexpr int columns_at_once = sizeof(V) * K > 16 ? 1 : 2;

/// Workers: products[share][column] of strips that are at hand, or more of them.
template <class V, int K>
__device__ __forceinline__ void multiply_part(const Worker<V, K>& w, const QueuedTask& t, const Shares& s, i32 first, i32 end) {
  constexpr int Q = columns_at_once<V, K>;
  const Block& b = t.block;
  if (!s.busy()) return;
  for (i32 j = s.column; j < b.width; j += Q * worker_threads) {
    V acc[Q][2][K] = {};
    const V* values = reinterpret_cast<const V*>(w.memory);
    const V* operand = w.operands() + i64(first - t.first) * b.strip_rows * K;
    for (i32 k = first; k < end; k++) {
      const Strip strip = strip_of(b, k);
#pragma unroll 4
      for (int i = 2 * s.share; i < strip.rows; i += 2 * s.shares) {
        V y[2][K];
        load_operands<V, K>(operand + i * K, y);
#pragma unroll
        for (int q = 0; q < Q; q++)
          if (const i32 column = j + q * worker_threads; column < strip.columns)
            add_pair(w, *reinterpret_cast<const Pair<V>*>(values + column * strip.lead + i), y, acc[q]);
      }
      values += strip.size();
      operand += b.strip_rows * K;
    }
#pragma unroll
    for (int q = 0; q < Q; q++)
      if (const i32 column = j + q * worker_threads; column < b.width)
#pragma unroll
        for (int r = 0; r < K; r++) {
          V& product = w.products()[(i64(s.share) * b.width + column) * K + r];
          const V more = acc[q][0][r] + acc[q][1][r];
          product = first == t.first ? more : product + more;
        }
  }
}

/// The sum of all that share a column, in their order.
template <class V, int K>
__device__ __forceinline__ void add_products(const Worker<V, K>& w, int shares, i32 columns, i32 column, V (&sum)[K]) {
#pragma unroll 2
  for (int share = 0; share < shares; share++)
#pragma unroll
    for (int r = 0; r < K; r++) sum[r] = sum[r] + w.products()[(i64(share) * columns + column) * K + r];
}

/// Workers: false if the wait is lost. `a` is of this task, and then of the next one.
template <class V, int K>
__device__ bool sum_part(const Worker<V, K>& w, int slot, AheadBack& a, u32& uses, u64& began) {
  const QueuedTask& t = w.desk.task[slot];
  const Block& b = t.block;
  if (!w.wait_for_needs(t, a.need)) return give_up(w, t, uses);
  began = w.clock();
  const Shares shares(w.thread(), b.width);
  gather_rows(w, t, a, [] {});
  meet_workers();
  i32 strip = t.first;
  for (int round = 0; round < t.rounds; round++) {
    w.desk.copy.wait(w.pieces_of(t, round), uses);
    const i32 end = min(strip + t.strips_of_round, t.end);
    multiply_part(w, t, shares, strip, end);
    strip = end;
    round + 1 < t.rounds ? wait_for<Meeting::values_used>() : come<Meeting::values_used>();
  }
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
  for (i32 j = w.thread(); j < b.width; j += worker_threads) {
    V sum[K] = {};
    add_products(w, shares.shares, b.width, j, sum);
    store_row<V, K>(w.s.partials + (t.partial + j) * K, sum);
  }
  come<Meeting::task_done>();
  return true;
}

// --- columns ---------------------------------------------------------------------------------------------------------------

/// Sums over the near strips' pairs of rows share, share + shares, ... of a column.
template <class V, int K>
__device__ __forceinline__ void multiply_near(const Worker<V, K>& w, const QueuedTask& t, const Shares& s, V (&acc)[2][K]) {
  const FrontRows rows = rows_of(t);
  const int strip_rows = t.block.strip_rows, count = rows.end - rows.first, step = 2 * s.shares;
  const int last = (count - 1) / strip_rows, strips_of_step = step / strip_rows,
            rows_of_step = step - strips_of_step * strip_rows;
  const int last_lead = (count - last * strip_rows + 1) & ~1;
  int strip = 2 * s.share / strip_rows, i = 2 * s.share - strip * strip_rows;
#pragma unroll 4
  for (int at = 2 * s.share; at < count; at += step) {
    const V* const values = reinterpret_cast<const V*>(w.memory + strip * t.piece_bytes);
    V y[2][K];
    load_operands<V, K>(w.operands() + at * K, y);
    add_pair(w, *reinterpret_cast<const Pair<V>*>(values + s.column * (strip < last ? strip_rows : last_lead) + i), y, acc);
    strip += strips_of_step, i += rows_of_step;
    if (i >= strip_rows) i -= strip_rows, strip++;
  }
}

/// A column's x, here and where it is read.
template <class V, int K>
__device__ __forceinline__ void store_column(const Worker<V, K>& w, i32 column, i32 result, const V (&x)[K], u32 readers) {
  const i64 at = i64(column) * K;
  store_row<V, K>(w.team.mine(w.s.x) + at, x);
  for (u32 left = readers; left != 0; left &= left - 1) store_row<V, K>(w.team.at(__ffs(int(left)) - 1, w.s.x) + at, x);
  w.store_result(result, x);
}

/// Workers: x of columns, of which each thread has a share of the parts' sums and of the near rows. False if the wait is lost.
template <class V, int K>
__device__ bool close_columns(const Worker<V, K>& w, int slot, AheadBack& a, u32& uses, u64& began) {
  const QueuedTask& t = w.desk.task[slot];
  const Block& b = t.block;
  const i32 columns = t.end - t.first;
  const Shares s(w.thread(), columns);
  if (!w.wait_for_needs(t, a.need)) return give_up(w, t, uses);
  began = w.clock();
  V acc[2][K] = {};
  gather_rows(w, t, a, [&] {
    if (!s.busy()) return;
    const V* const partials = w.s.partials + (t.partial + t.first + s.column) * K;
#pragma unroll 4
    for (int part = s.share; part < t.parts; part += s.shares) {
      V sum[K];
      load_row<V, K>(partials + i64(part) * b.width * K, sum);
#pragma unroll
      for (int r = 0; r < K; r++) acc[0][r] = acc[0][r] + sum[r];
    }
  });
  meet_workers();
  if (t.value_bytes > 0) {
    w.desk.copy.wait(w.pieces_of(t), uses);
    if (s.busy()) multiply_near(w, t, s, acc);
  }
  if (s.busy())
#pragma unroll
    for (int r = 0; r < K; r++) w.products()[(i64(s.share) * columns + s.column) * K + r] = acc[0][r] + acc[1][r];
  const i32 result = a.result;
  come<Meeting::values_used>();
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
  if (w.thread() < columns) {
    V x[K] = {};
    add_products(w, s.shares, columns, w.thread(), x);
    store_column(w, b.column + t.first + w.thread(), result, x, t.readers);
  }
  come<Meeting::task_done>();
  return true;
}

// --- subtrees --------------------------------------------------------------------------------------------------------------

/// One warp, for a small block whose values, program and rows are at hand: lanes share its columns, and columns their rows.
template <class V, int K>
__device__ void back_small(const Worker<V, K>& w, const QueuedTask& t, const i32* program, const SmallBlockBack& b,
                           const V* values) {
  V* const y = w.operands();
  const Block shape{.width = b.width, .front = b.front, .strip_rows = b.strip_rows};
  int lanes = 1;  // of columns
  while (lanes < 32 && lanes < b.width) lanes *= 2;
  const int share = w.lane() / lanes, shares = 32 / lanes;
  for (i32 first = 0; first < b.width; first += lanes) {
    const i32 j = first + w.lane() % lanes;
    V acc[2][K] = {};
    const V* of_strip = values + b.values;
    for (i32 k = 0; k < shape.strips(); k++) {
      const Strip strip = strip_of(shape, k);
      const int2* const places = reinterpret_cast<const int2*>(program + b.places + strip.first);
      if (j < strip.columns)
#pragma unroll 4
        for (int pair = share; 2 * pair < strip.rows; pair += shares) {
          const int2 place = places[pair];
          V of_rows[2][K];
#pragma unroll
          for (int r = 0; r < K; r++) of_rows[0][r] = y[i64(place.x) * K + r], of_rows[1][r] = y[i64(place.y) * K + r];
          add_pair(w, *reinterpret_cast<const Pair<V>*>(of_strip + j * strip.lead + 2 * pair), of_rows, acc);
        }
      of_strip += strip.size();
    }
#pragma unroll
    for (int r = 0; r < K; r++) {
      V sum = acc[0][r] + acc[1][r];
      for (int other = lanes; other < 32; other *= 2) sum = sum + shuffle_xor(sum, other);
      if (share == 0 && j < b.width) y[i64(t.columns + b.column + j) * K + r] = V{} - sum;
    }
  }
}

/// Workers: b and the rows outside come to lie where the program says, before all meet.
template <class V, int K>
__device__ __forceinline__ void gather_subtrees(const Worker<V, K>& w, const QueuedTask& t, const i32* outside) {
  auto copy = [&](const V* from, i32 to, bool negative) {
    V row[K];
    load_row<V, K>(from, row);
#pragma unroll
    for (int r = 0; r < K; r++) w.operands()[i64(to) * K + r] = negative ? V{} - row[r] : row[r];
  };
#pragma unroll 4
  for (i32 i = w.thread(); i < t.outside; i += worker_threads)
    copy(w.team.mine(w.s.x) + i64(outside[i]) * K, 2 * t.columns + i, true);
#pragma unroll 4
  for (i32 j = w.thread(); j < t.columns; j += worker_threads) copy(w.pass.b + i64(t.block.column + j) * K, j, false);
  if (w.thread() < K) w.operands()[i64(2 * t.columns + t.outside) * K + w.thread()] = V{};
}

/// Workers: each warp takes the next small block, and waits for its parent, which comes before it. False if the wait is lost.
template <class V, int K>
__device__ bool back_subtrees(const Worker<V, K>& w, int slot, AheadBack& a, u32& uses, u64& began) {
  const QueuedTask& t = w.desk.task[slot];
  const i32 count = t.end - t.first;
  if (!w.wait_for_needs(t, a.need)) return give_up(w, t, uses);
  began = w.clock();
  w.desk.copy.wait(w.pieces_of(t), uses);
  const V* const values = reinterpret_cast<const V*>(w.memory);
  const i32* const program = reinterpret_cast<const i32*>(w.memory + t.value_bytes);
  const SmallBlockBack* const blocks = reinterpret_cast<const SmallBlockBack*>(program);
  gather_subtrees(w, t, reinterpret_cast<const i32*>(blocks + count));
  for (i32 k = w.thread(); k < count; k += worker_threads) w.desk.waits_for[k] = 1;
  if (w.thread() == 0) w.desk.taken = 0;
  meet_workers();
  while (true) {
    i32 k = 0;
    if (w.lane() == 0) k = atomicAdd(&w.desk.taken, 1);
    k = __shfl_sync(~0u, k, 0);
    if (k >= count) break;
    const SmallBlockBack b = blocks[k];
    if (b.parent >= 0)
      while (*const_cast<volatile i32*>(&w.desk.waits_for[b.parent]) > 0) {
      }
    __threadfence_block();
    __syncwarp();
    back_small(w, t, program, b, values);
    __threadfence_block();
    __syncwarp();
    if (w.lane() == 0) *const_cast<volatile i32*>(&w.desk.waits_for[k]) = 0;
  }
  come<Meeting::values_used>();
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
#pragma unroll 4
  for (i32 j = w.thread(); j < t.columns; j += worker_threads) {
    V x[K];
#pragma unroll
    for (int r = 0; r < K; r++) x[r] = V{} - w.operands()[i64(t.columns + j) * K + r];
    w.store_result(w.s.order[t.block.column + j], x);
  }
  come<Meeting::task_done>();
  return true;
}

/// Workers: the task in `slot`. False if the wait is lost; then, too, nothing is on its way to the block.
template <class V, int K>
__device__ bool carry_back(const Worker<V, K>& w, int slot, AheadBack& a, u32& uses, u64& began) {
  const QueuedTask& t = w.desk.task[slot];
  bool done = false;
  switch (t.kind) {
    case Task::Kind::strips: done = sum_part(w, slot, a, uses, began); break;
    case Task::Kind::columns: done = close_columns(w, slot, a, uses, began); break;
    default: done = back_subtrees(w, slot, a, uses, began);
  }
  if (!done && t.value_bytes > 0) w.desk.copy.wait(w.pieces_of(t), uses);
  return done;
}

}  // namespace sordino::trsv
