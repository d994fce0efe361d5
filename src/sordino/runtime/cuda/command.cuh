// The generic kernel: one command of a recording, whatever its functor. Its phases, in order:
//
//   wait for the previous command · finish reductions · exit test · head · task groups, with the rows of other ranks awaited
//   before the groups that need them, and rows sent as soon as the groups that compute them are done · start a reduction
#pragma once
#include <type_traits>

#include "sordino/base/status.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/body.hpp"
#include "sordino/runtime/cuda/phases.cuh"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino::cuda {

/// Threads that share a row.
template <class F>
constexpr int lanes_of() {
  if constexpr (requires { F::lanes; })
    return F::lanes;
  else
    return 1;
}

template <class F>
inline constexpr bool has_rows = requires(F f) { f.row(i32{}); };

// Visitors of a functor's fields. The host has already put physical scalars, or codes, into their ids.
struct LoadGets {
  const Args& a;
  const Shared& s;
  template <class X>
  __device__ void operator()(X& x) const {
    if constexpr (std::is_same_v<X, Get>) {
      if (x.id >= 0)
        x.v = __ldcg(a.scalars + x.id);
      else if (x.id < -1)
        x.v = s.finished[-2 - x.id];
    }
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

/// The exit test, evaluated by every thread from the same bits. `stop_seen_at` as it was before this command.
template <class T>
__device__ inline int test_exit(T test, const Args& a, const Shared& s, u32 stop_seen_at) {
  each_field(test, LoadGets{a, s});
  int verdict = test.test();
  if (verdict == proceed && ((stop_seen_at && stop_seen_at < sequence_of(a)) || (a.n_finishes && s.stop))) verdict = asked_to_stop;
  if (is_keeper()) {
    a.history[(a.control->history_next + a.history_offset) & a.history_mask] = test.value();
    if (verdict != proceed) {
      a.control->exit_verdict = verdict;
      a.control->exit_iteration = iteration_of(a);
      a.control->exit_command = a.command;
      store_relaxed(&a.control->halt, 1);  // blocks of this command that begin late leave here too, or by the same test
    }
  }
  return verdict;
}

/// The rows of a chunk that this thread computes: none or one.
struct RowOfThread {
  i32 row;
  bool exists;
};
template <int lanes>
__device__ inline RowOfThread row_of(const GroupArgs& g, i32 chunk) {
  constexpr i32 rows = block_threads / lanes;
  i32 t = threadIdx.x / lanes;
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

/// One row: its sums are added to `sums`, and it is sent if `send`.
template <class F, int K>
__device__ inline void compute_row(F& f, const Args& a, RowOfThread r, bool send, double (&sums)[K]) {
  constexpr int lanes = lanes_of<F>();
  auto add = [&](const auto& s) {
    if constexpr (sums_of<F> > 0)
#pragma unroll
      for (int k = 0; k < sums_of<F>; k++) sums[k] += s.v[k];
  };
  if constexpr (lanes > 1) {
    int lane = threadIdx.x % lanes;
    double y = r.exists ? f.f.sum(r.row, lane, lanes) : 0.0;
#pragma unroll
    for (int o = lanes / 2; o; o >>= 1) y += __shfl_xor_sync(~0u, y, o);
    if (!r.exists || lane != 0) return;
    add(f.finish(r.row, y));
  } else {
    if (!r.exists) return;
    if constexpr (sums_of<F> > 0)
      add(f.row(r.row));
    else if constexpr (has_rows<F>)
      f.row(r.row);
  }
  if (send) send_row(a, r.row);
}

/// All task groups. Chunks of all groups are dealt to the blocks in one sequence, so that the groups share the load. A group
/// without rows still waits. False: a wait was lost.
template <class F, int K>
__device__ inline bool run_groups(F& f, const Args& a, double (&sums)[K]) {
  i32 chunk = blockIdx.x, begin = 0;
  bool sent = a.all_send;
#pragma unroll 1
  for (int j = 0; j < a.n_groups; j++) {
    const GroupArgs& g = a.group[j];
    bool mine = chunk < g.end;
    bool witness = g.end > begin ? chunk == begin : blockIdx.x == 0;
    if (g.awaits && (mine || witness) && !await_rows(a, witness)) return false;
    sent |= g.sends && mine;
#pragma unroll 1
    for (; chunk < g.end; chunk += gridDim.x) compute_row<F>(f, a, row_of<lanes_of<F>()>(g, chunk - begin), g.sends, sums);
    if (g.puts) {
      if (a.all_send) send_old_rows(a);
      if (sent) sent_rows(a);
    }
    begin = g.end;
  }
  return true;
}

__device__ inline void dawdle(const Args& a) {  // tests
  u64 until = nanoseconds() + u64(a.late_us) * 1000;
  while (nanoseconds() < until) {
  }
}

// Blocks that are to fit on a multiprocessor: 6 leave 40 registers a thread, which streaming updates do with; a functor that holds
// more loads in flight asks for fewer.
template <class F>
constexpr int resident_blocks() {
  if constexpr (requires { F::resident_blocks; })
    return F::resident_blocks;
  else
    return 6;
}

template <class F, class T>
__global__ void __launch_bounds__(block_threads, resident_blocks<F>())
    command(const __grid_constant__ F functor, const __grid_constant__ T exit_test, const __grid_constant__ Args a) {
  __shared__ Shared s;
  // What is read here does not change while a chunk of iterations runs, so it need not wait for the previous command.
  i32 iteration = iteration_of(a);
  if (iteration >= a.control->max_iterations) {
    wait_for_previous_command();
    return;
  }
  PartRef part = threadIdx.x < 32 ? part_ref(a, threadIdx.x) : PartRef{};
  wait_for_previous_command();
  let_next_command_come();

  u64 state = load_relaxed(reinterpret_cast<const u64*>(a.control));
  bool halted = u32(state) != 0;
  if (a.n_finishes) {
    if (!finish_reductions(a, s, part, halted)) return;
  } else if (halted) {
    return;
  }
  if (iteration == a.late_at && is_keeper()) dawdle(a);
  if constexpr (!std::is_same_v<T, NoTest>)
    if (test_exit(exit_test, a, s, u32(state >> 32)) != proceed) return;

  F f = functor;
  each_field(f, LoadGets{a, s});
  if constexpr (requires { f.head(); }) {
    f.head();
    if (is_keeper()) each_field(f, StorePuts{a});
  }
  constexpr int K = sums_of<F>;
  double sums[K > 0 ? K : 1] = {};
  bool well = run_groups<F>(f, a, sums);
  if constexpr (K > 0)
    if (well) start_reduction<K>(a, s, sums);
}

}  // namespace sordino::cuda
