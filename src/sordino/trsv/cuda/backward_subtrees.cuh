// Device code: small subtrees on the way from the root to the leaves.
#pragma once
#include "sordino/trsv/cuda/back_rows.cuh"

namespace sordino::trsv {

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
    V acc[1][2][K] = {};
    const V* of_strip = values + b.values;
    for (i32 k = 0; k < shape.strips(); k++) {
      const Strip strip = strip_of(shape, k);
      const int2* const places = reinterpret_cast<const int2*>(program + b.places + strip.first);
      if (j < strip.columns)
        add_pairs(
            w, share, shares, (strip.rows + 1) / 2, acc,
            [&](int pair, V(&of_rows)[2][K]) {
              const int2 place = places[pair];
#pragma unroll
              for (int r = 0; r < K; r++) of_rows[0][r] = y[i64(place.x) * K + r], of_rows[1][r] = y[i64(place.y) * K + r];
            },
            [&](int pair, int) { return *reinterpret_cast<const Pair<V>*>(of_strip + j * strip.lead + 2 * pair); });
      of_strip += strip.size();
    }
#pragma unroll
    for (int r = 0; r < K; r++) {
      V sum = acc[0][0][r] + acc[0][1][r];
      for (int other = lanes; other < 32; other *= 2) sum = sum + shuffle_xor(sum, other);
      if (share == 0 && j < b.width) y[i64(t.columns + b.column + j) * K + r] = V{} - sum;
    }
  }
}

/// Workers: rows 0, ..., count - 1 of an array come to lie at `to`, negated if they are x; several of a thread's are on their
/// way at once. place(i): where row i comes from. False if a number of this thread's is not there yet.
template <bool is_x, class V, int K, class Place>
__device__ __forceinline__ bool gather_list(const Worker<V, K>& w, i32 count, const V* from, V* to, const Place& place) {
  constexpr int N = pairs_at_once<V, K>;
  bool there = true;
#pragma unroll 1
  for (i32 first = w.thread(); first < count; first += N * worker_threads) {
    RowWords<V, K> rows[N];
#pragma unroll
    for (int n = 0; n < N; n++) {
      const i32 i = first + n * worker_threads;
      rows[n].load(i < count, from + i64(place(i < count ? i : first)) * K);
    }
#pragma unroll
    for (int n = 0; n < N; n++)
      if (const i32 i = first + n * worker_threads; i < count) there = store_front(rows[n], is_x, to + i64(i) * K) && there;
  }
  return there;
}

/// Workers: b and the rows outside come to lie where the program says. False if a number of this thread's is not there yet.
template <class V, int K>
__device__ __forceinline__ bool gather_subtrees(const Worker<V, K>& w, const QueuedTask& t, const i32* outside) {
  const bool there = gather_list<true>(w, t.outside, w.team.mine(w.s.x) + w.pass.x, w.operands() + i64(2 * t.columns) * K,
                                       [&](i32 i) { return outside[i]; });
  if (w.pass.order)
    load_columns_by_rows(w, t);
  else
    gather_list<false>(w, t.columns, w.pass.b + i64(t.block.column) * K, w.operands(), [](i32 i) { return i; });
  if (w.thread() < K) w.operands()[i64(2 * t.columns + t.outside) * K + w.thread()] = V{};
  return there;
}

/// Workers: each warp takes the next small block, and waits for its parent, which comes before it.
template <class V, int K>
__device__ __forceinline__ void multiply_back(const Worker<V, K>& w, const QueuedTask& t) {
  const i32 count = t.end - t.first;
  const SmallBlockBack* const blocks = reinterpret_cast<const SmallBlockBack*>(w.program_of(t));
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
    back_small(w, t, w.program_of(t), b, reinterpret_cast<const V*>(w.memory));
    __threadfence_block();
    __syncwarp();
    if (w.lane() == 0) *const_cast<volatile i32*>(&w.desk.waits_for[k]) = 0;
  }
}

/// Workers: results, whose rows of the caller's are looked up several at once.
template <class V, int K>
__device__ __forceinline__ void store_subtrees_back(const Worker<V, K>& w, const QueuedTask& t) {
  constexpr int N = 4;
#pragma unroll 1
  for (i32 first = w.thread(); first < t.columns; first += N * worker_threads) {
    i32 rows[N];
#pragma unroll
    for (int n = 0; n < N; n++) rows[n] = w.s.order[t.block.column + min(first + n * worker_threads, t.columns - 1)];
#pragma unroll
    for (int n = 0; n < N; n++) {
      const i32 j = first + n * worker_threads;
      if (j >= t.columns) continue;
      V x[K];
#pragma unroll
      for (int r = 0; r < K; r++) x[r] = V{} - w.operands()[i64(t.columns + j) * K + r];
      w.store_result(rows[n], x);
    }
  }
}

/// Workers: false if a wait is lost.
template <class V, int K>
__device__ __forceinline__ bool back_subtrees(const Worker<V, K>& w, int slot, AheadBack& a, u32& uses) {
  const QueuedTask& t = w.desk.task[slot];
  w.desk.copy.wait(w.pieces_of(t), uses);
  const i32* const outside = w.program_of(t) + (t.end - t.first) * i32(sizeof(SmallBlockBack) / sizeof(i32));
  w.await_numbers(t, a.need, [&] { return gather_subtrees(w, t, outside); });
  if (w.desk.lost) return false;
  w.stamp(t.id, &TaskTrace::began);
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
  multiply_back(w, t);
  come<Meeting::values_used>();
  meet_workers();
  store_subtrees_back(w, t);
  come<Meeting::task_done>();
  meet_workers();  // operands are those of the next task now
  return true;
}

}  // namespace sordino::trsv
