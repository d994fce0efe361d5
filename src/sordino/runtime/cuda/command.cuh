// The generic kernel: one command of a recording, whatever its functor. Its phases, in order:
//
//   wait for the previous command · finish reductions · exit test · head · task groups, with the rows of other ranks awaited
//   before the groups that need them, and rows sent as soon as the groups that compute them are done · start a reduction
#pragma once
#include <type_traits>

#include "sordino/base/status.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/body.hpp"
#include "sordino/runtime/cuda/fixed_order.cuh"
#include "sordino/runtime/cuda/whole_block.cuh"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/one_thread.hpp"

namespace sordino::cuda {

/// Threads that share a row: each computes part(row, lane, lanes), and the first finishes the row with their sum. Where the
/// order is fixed, one thread adds a row's entries.
template <class F, SumOrder order>
constexpr int lanes_of() {
  if constexpr (requires { F::lanes; } && order == SumOrder::grid)
    return F::lanes;
  else
    return 1;
}

/// Warps that share 32 rows, where a functor spreads a row over several: warp n computes part(row, n) of all of them; of the
/// sum of the parts s, the first `shares_of_row` warps finish a Share(s, n) each by finish(row, n, share), and what these
/// return is added. Not where the order is fixed, either: parts would be added in another one.
template <class F, SumOrder order>
constexpr int warps_of() {
  if constexpr (requires { F::warps_a_row; } && order == SumOrder::grid)
    return F::warps_a_row;
  else
    return 1;
}
template <class F, SumOrder order>
constexpr int threads_a_row() {
  return works_by_blocks<F> ? block_threads : lanes_of<F, order>() * warps_of<F, order>();
}

template <class F>
inline constexpr bool has_rows = requires(F f) { f.row(i32{}); };

/// Whether the warps of a block wait for each other between chunks, as a functor asks for whose rows read what rows some planes
/// of a grid before have read, too: warps that run ahead, of which each goes through hundreds of chunks, spread the rows that
/// are computed at a time over more planes than the second cache holds (ADR 45).
template <class F>
inline constexpr bool warps_meet = requires { requires F::warps_meet; };
constexpr i32 fewest_meetings = 32;  // chunks of a block: fewer are done before its warps are far apart

// --- before the rows: the first warp finds out, the others are told ---------------------------------------------------------
// Visitors of a functor's fields. The host has already put physical scalars, or codes, into their ids.

struct LoadKept {  // scalars that earlier commands left in memory
  const Args& a;
  template <class X>
  __device__ void operator()(X& x) const {
    if constexpr (std::is_same_v<X, Get>)
      if (x.id >= 0) x.v = __ldcg(a.scalars + x.id);
  }
};
struct LoadFinished {  // scalars that this command has just finished
  const Shared& s;
  template <class X>
  __device__ void operator()(X& x) const {
    if constexpr (std::is_same_v<X, Get>)
      if (x.id < -1) x.v = s.finished[-2 - x.id];
  }
};
struct StorePuts {
  const Args& a;
  template <class X>
  __device__ void operator()(X& x) const {
    if constexpr (std::is_same_v<X, Put>)
      if (x.id >= 0) a.scalars[x.id] = x.v;
  }
};

/// What a head may change: every listed field that is no vector and no pointer. One word or more each.
template <class X>
inline constexpr bool is_computed = !sordino::detail::VectorField<X> && !std::is_pointer_v<X>;
template <class X>
inline constexpr int words_of = int((sizeof(X) + 7) / 8);

struct TellComputed {
  u64* word;
  template <class X>
  __device__ void operator()(const X& x) {
    if constexpr (std::is_same_v<X, Get> || std::is_same_v<X, Put>)
      *word++ = __double_as_longlong(x.v);
    else if constexpr (is_computed<X>) {
      memcpy(word, &x, sizeof(X));
      word += words_of<X>;
    }
  }
};
struct HearComputed {
  const u64* word;
  template <class X>
  __device__ void operator()(X& x) {
    if constexpr (std::is_same_v<X, Get> || std::is_same_v<X, Put>)
      x.v = __longlong_as_double(*word++);
    else if constexpr (is_computed<X>) {
      memcpy(&x, word, sizeof(X));
      word += words_of<X>;
    }
  }
};

/// The exit test. All warps of all blocks evaluate it from the same bits. `stop_seen_at` as it was before this command.
template <class T>
__device__ inline int test_exit(T& test, const Args& a, const Shared& s, u32 stop_seen_at) {
  int verdict = test.test();
  if (verdict == proceed && ((stop_seen_at != place_of(a) && is_from(place_of(a), stop_seen_at)) || (a.n_finishes && s.stop)))
    verdict = asked_to_stop;
  if (is_keeper()) {
    a.history[(a.control->history_next + a.history_offset) & a.history_mask] = test.value();
    if (verdict != proceed) {
      a.control->exit_verdict = verdict;
      a.control->exit_iteration = iteration_of(a);
      a.control->exit_command = a.command;
      // Blocks of this command that begin late leave here too, or by the same test. Commands of other queues that were recorded
      // before it may begin late, and do their work.
      store_relaxed(&a.control->halt, place_of(a));
    }
  }
  return verdict;
}

__device__ inline void dawdle(const Args& a) {  // tests
  if (a.late_us == traps) __trap();
  u64 until = nanoseconds() + u64(a.late_us) * 1000;
  while (nanoseconds() < until) {
  }
}

/// The first warp's, once reductions are finished and kept scalars loaded: exit test and head.
template <class F, class T>
__device__ inline bool go_ahead(F& f, T& test, const Args& a, Shared& s, i32 iteration, u32 stop_seen_at, u64* computed) {
  if (iteration == a.late_at && is_keeper()) dawdle(a);
  if constexpr (!std::is_same_v<T, NoTest>) {
    each_field(test, LoadFinished{s});
    if (test_exit(test, a, s, stop_seen_at) != proceed) return false;
  }
  each_field(f, LoadFinished{s});
  if constexpr (requires { f.head(); }) {
    f.head();
    __syncwarp();  // in a command of one block, all have read what is now overwritten
    if (is_keeper()) each_field(f, StorePuts{a});
  }
  if (threadIdx.x == 0) each_field(f, TellComputed{computed});
  return true;
}

/// The first warp's: from the wait for the previous command to the head. Leaves in `computed` what the head computed. False:
/// the command has nothing to do.
template <SumOrder order, class F, class T>
__device__ inline bool begin_command(F f, T test, const Args& a, Shared& s, u64* computed) {
  // What is read here does not change while a chunk of iterations runs, so it need not wait for the previous command.
  i32 iteration = iteration_of(a);
  bool beyond = iteration >= a.control->max_iterations;
  PartRef part = order == SumOrder::grid ? part_ref(a, threadIdx.x) : PartRef{};
  if (order == SumOrder::grid && sums_of<F> > 0 && a.start.slot >= 0 && threadIdx.x == 0)
    s.start_epoch = epoch_of(a, a.start.epoch);
  wait_for_previous_command();
  if (a.calls_early) let_next_command_come();
  u64 state = load_relaxed(reinterpret_cast<const u64*>(a.control));
  each_field(f, LoadKept{a});  // on their way, as is the first packet
  if constexpr (!std::is_same_v<T, NoTest>) each_field(test, LoadKept{a});
  bool halted = beyond || is_from(place_of(a), u32(state));
  if (a.n_finishes == 0) {
    if (halted) return false;
  } else if constexpr (order == SumOrder::fixed) {
    if (!finish_in_order(a, s, halted)) return false;
  } else if (!finish_reductions(a, s, part, halted)) {
    return false;
  }
  return go_ahead(f, test, a, s, iteration, u32(state >> 32), computed);
}

// --- rows -----------------------------------------------------------------------------------------------------------------

/// The rows of a chunk that this thread computes: none or one.
struct RowOfThread {
  i32 row;
  bool exists;
};
template <class F, SumOrder order>
__device__ inline i32 place_in_chunk() {
  if constexpr (works_by_blocks<F>) return 0;
  if constexpr (warps_of<F, order>() > 1) return i32(threadIdx.x) / 32 / warps_of<F, order>() * 32 + i32(threadIdx.x) % 32;
  return i32(threadIdx.x) / lanes_of<F, order>();
}
template <class F, SumOrder order>
__device__ inline RowOfThread row_of(const GroupArgs& g, i32 chunk) {
  constexpr i32 rows = block_threads / threads_a_row<F, order>();
  i32 t = place_in_chunk<F, order>();
  if (g.rows) {
    i32 k = chunk * rows + t;
    bool exists = k < g.n_rows;
    return {exists ? g.rows[k] : 0, exists};
  }
  if (g.chunks) {
    RowRange r = g.chunks[chunk];
    return {r.begin + t, r.begin + t < r.end};
  }
  i32 row = g.first + chunk * rows + t;
  return {row, row < g.last};
}

/// All threads of the block: the warps that share a row compute their parts of it, and each of the first ones, which finish
/// it, gets its share of the sum, with the parts added in order.
template <class F, SumOrder order>
__device__ inline typename F::Share sum_parts(F& f, RowOfThread r, int nth) {
  using Share = typename F::Share;
  using Word = typename Share::Word;  // that is loaded and stored at once
  constexpr int parts = warps_of<F, order>(), shares = F::shares_of_row, words = sizeof(Share) / sizeof(Word);
  static_assert(shares <= parts);
  __shared__ Word slots[parts - 1][shares][words][block_threads / parts];  // what is not one's own
  auto slot = [&](int part, int share) -> auto& { return slots[part - (part > share)][share]; };
  const i32 t = place_in_chunk<F, order>();
  decltype(f.part(r.row, nth)) part{};
  if (r.exists) part = f.part(r.row, nth);
  __syncthreads();  // the last chunk's have been read
  Share mine{};
#pragma unroll
  for (int s = 0; s < shares; s++) {
    Share share(part, s);
    if (s == nth) {
      mine = share;
      continue;
    }
#pragma unroll
    for (int k = 0; k < words; k++) slot(nth, s)[k][t] = share.words[k];
  }
  __syncthreads();
  Share sum{};
  if (nth >= shares) return sum;
#pragma unroll
  for (int i = 0; i < parts; i++) {
    Share share = mine;
    if (i != nth)
#pragma unroll
      for (int k = 0; k < words; k++) share.words[k] = slot(i, nth)[k][t];
    sum += share;
  }
  return sum;
}

/// One row: its sums are added to `sums`, and it is sent if `send`.
template <SumOrder order, class F, int K>
__device__ inline void compute_row(F& f, const Args& a, RowOfThread r, bool send, double (&sums)[K]) {
  constexpr int lanes = lanes_of<F, order>();
  auto add = [&](const auto& s) {
    if constexpr (sums_of<F> > 0)
#pragma unroll
      for (int k = 0; k < sums_of<F>; k++) sums[k] += s.v[k];
  };
  if constexpr (works_by_blocks<F>) {
    __shared__ double slots[warps][WholeBlock<order>::most_sums];
    if (r.exists) f.row(r.row, WholeBlock<order>(slots));
    if (!sends_rows<F> || !r.exists || threadIdx.x != 0) return;
  } else if constexpr (lanes > 1) {
    int lane = threadIdx.x % lanes;
    decltype(f.part(r.row, lane, lanes)) y{};
    if (r.exists) y = f.part(r.row, lane, lanes);
    for (auto& v : y.v)
#pragma unroll
      for (int o = lanes / 2; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (!r.exists || lane != 0) return;
    if constexpr (sums_of<F> > 0)
      add(f.finish(r.row, y));
    else
      f.finish(r.row, y);
  } else if constexpr (warps_of<F, order>() > 1) {
    int nth = i32(threadIdx.x) / 32 % warps_of<F, order>();
    auto share = sum_parts<F, order>(f, r, nth);
    if (r.exists && nth < F::shares_of_row) {
      if constexpr (sums_of<F> > 0)
        add(f.finish(r.row, nth, share));
      else
        f.finish(r.row, nth, share);
    }
    if (send) __syncthreads();  // all shares are there
    if (!r.exists || nth != 0) return;
  } else {
    if (!r.exists) return;
    if constexpr (sums_of<F> > 0)
      add(f.row(r.row));
    else if constexpr (has_rows<F>)
      f.row(r.row);
  }
  if (send) send_row(a, r.row);
}

/// This block's chunks of a hand, from `chunk` on, of a group that is one range of rows, none of which is sent: the tight loop
/// that most time is spent in.
template <SumOrder order, class F, int K>
__device__ inline void stream_rows(F& f, const Args& a, const GroupArgs& g, const Hand& hand, i32 chunk, double (&sums)[K]) {
  constexpr i32 shared_by = threads_a_row<F, order>(), rows = block_threads / shared_by;
  i32 last = min(g.last, g.first + hand.end * rows), step = hand.among * rows;
  i32 row = g.first + chunk * rows + place_in_chunk<F, order>();
  if constexpr (shared_by > 1) {  // those that share rows stay together
    for (i32 first = g.first + chunk * rows; first < last; first += step, row += step)
      compute_row<order>(f, a, {row, row < last}, false, sums);
  } else if (warps_meet<F> && (hand.end - chunk) / hand.among >= fewest_meetings) {
    for (i32 first = g.first + chunk * rows; first < last; first += step, row += step) {
      compute_row<order>(f, a, {row, row < last}, false, sums);
      __syncthreads();
    }
  } else {
    for (; row < last; row += step) compute_row<order>(f, a, {row, true}, false, sums);
  }
}

/// This block's chunks of a hand.
template <SumOrder order, class F, int K>
__device__ inline void play(F& f, const Args& a, const GroupArgs& g, const Hand& hand, double (&sums)[K]) {
  i32 chunk = first_chunk(hand, blockIdx.x, a.blocks);
  if constexpr (order == SumOrder::fixed && sums_of<F> > 0) {
    u32 epoch = epoch_of(a, a.start.epoch);
#pragma unroll 1
    for (; chunk < hand.end; chunk += hand.among) sum_tile<F, K>(f, a, g, chunk, epoch);
  } else if (g.one_range && !g.sends) {
    if (chunk < hand.end) stream_rows<order>(f, a, g, hand, chunk, sums);
  } else {
#pragma unroll 1
    for (; chunk < hand.end; chunk += hand.among) compute_row<order>(f, a, row_of<F, order>(g, chunk), g.sends, sums);
  }
}

/// All task groups, as they are dealt (dealing.hpp). A group without rows still waits. False: a wait was lost.
template <SumOrder order, class F, int K>
__device__ inline bool run_groups(F& f, const Args& a, double (&sums)[K]) {
  bool sent = a.all_send;
#pragma unroll 1
  for (int j = 0; j < a.n_groups; j++) {
    const GroupArgs& g = a.group[j];
    if (g.awaits || g.sends) {  // then it has one hand at most
      i32 chunk = g.n_hands ? first_chunk(g.hand[0], blockIdx.x, a.blocks) : i32(blockIdx.x);
      bool mine = chunk < g.hand[0].end, witness = chunk == 0;
      if (g.awaits && (mine || witness) && !await_rows(a, witness)) return false;
      sent |= g.sends && mine;
    }
#pragma unroll 1
    for (int h = 0; h < g.n_hands; h++) play<order>(f, a, g, g.hand[h], sums);
    if (g.puts) {
      if (a.all_send) send_old_rows(a);
      if (sent) sent_rows(a);
    }
  }
  return true;
}

// Blocks that are to fit on a multiprocessor: 6 leave 40 registers a thread, which streaming updates do with; a functor that
// holds more loads in flight asks for fewer.
template <class F>
constexpr int resident_blocks() {
  if constexpr (requires { F::resident_blocks; })
    return F::resident_blocks;
  else
    return 6;
}

/// All threads of a block that computes.
template <SumOrder order, class F, class T>
__device__ __forceinline__ void run_command(const F& functor, const T& exit_test, const Args& a, Shared& s) {
  __shared__ u64 computed[words_of<F>];
  if (threadIdx.x < 32) {
    bool go = begin_command<order>(functor, exit_test, a, s, computed);
    if (threadIdx.x == 0) s.go = go;
    if (go && is_keeper()) note_begin(a);
  } else {
    wait_for_previous_command();
  }
  __syncthreads();
  if (!s.go) return;
  F f = functor;
  each_field(f, HearComputed{computed});
  constexpr int K = sums_of<F>;
  double sums[K > 0 ? K : 1] = {};
  bool well = run_groups<order>(f, a, sums);
  if (!a.calls_early) let_next_command_come();
  if constexpr (K > 0 && order == SumOrder::grid)
    if (well && a.start.slot >= 0) start_reduction<K>(a, s, sums);
  note_end(a);
}

template <class F, class T, SumOrder order>
__global__ void __launch_bounds__(block_threads, resident_blocks<F>()) command(const __grid_constant__ F functor,
                                                                               const __grid_constant__ T exit_test,
                                                                               const __grid_constant__ Args a) {
  __shared__ Shared s;
  run_command<order>(functor, exit_test, a, s);
}

}  // namespace sordino::cuda
