// Device code: a thread block that takes tasks of its rank's queue, one after the other. Four warps, the workers, compute. A
// fifth one, the courier, does beside them what is slow and needs few threads (courier.cuh): it takes tickets, lets the values
// of the next task come as soon as those of this one have been used, and tells of what is done. Four such blocks share a
// multiprocessor, and what one waits for the others hide.
#pragma once
#include "sordino/runtime/cuda/team.cuh"
#include "sordino/trsv/cuda/copy_ahead.cuh"
#include "sordino/trsv/cuda/meetings.cuh"
#include "sordino/trsv/cuda/passes.cuh"
#include "sordino/trsv/cuda/solve_memory.cuh"
#include "sordino/trsv/cuda/solve_tables.hpp"
#include "sordino/trsv/cuda/subtree_program.hpp"
#include "sordino/trsv/cuda/told.cuh"
#include "sordino/trsv/cuda/wide_shapes.hpp"

namespace sordino::trsv {

inline constexpr i32 most_small_blocks = 256;  // of subtrees that are one task
inline constexpr i32 most_looks = 1 << 20;     // that a number may take to come after it was told of

/// What all threads of a block share, beside its dynamic memory.
struct Desk {
  QueuedTask task[2];
  u32 ticket[2];
  CopyAhead copy;
  volatile bool lost;                // a wait was in vain:
  volatile bool ends;                //   the block ends
  i32 taken;                         // small blocks
  i32 waits_for[most_small_blocks];  // of a small block: how many others it still waits for

  /// One thread, before all threads meet.
  __device__ void open() {
    copy.begin();
    lost = false;
    ends = false;
  }
};

/// K columns of b at a time, of a pass that has P. If these are more, the pass is a wide one: its numbers are there when flags
/// say so, no place is emptied, and b is stored as wide_place() says.
template <class V, int K, int P = K>
struct Worker {
  static constexpr bool is_wide = P > K;
  const cuda::DeviceTeam& team;
  const SolveTables<V>& s;
  const SolvePass<V>& pass;
  Desk& desk;
  char* memory;        // dynamic: values and program, operands [columns][K], and what a task makes
  int first_of_K = 0;  // of the pass's columns

  static __device__ int thread() { return int(threadIdx.x); }
  static __device__ int warp() { return int(threadIdx.x) / 32; }
  static __device__ int lane() { return int(threadIdx.x) % 32; }
  __device__ V* operands() const { return reinterpret_cast<V*>(memory + s.buffer_bytes); }
  __device__ V* products() const { return operands() + i64(s.operands) * K; }

  // --- tasks --------------------------------------------------------------------------------------------------------------

  /// What comes to a block ahead of the time of its task, or of a round of it.
  __device__ Pieces pieces_of(const QueuedTask& t, int round = 0) const {
    const char* const from = reinterpret_cast<const char*>(s.values + t.values) + i64(round) * t.piece_step;
    const i32 before = t.rounds > 1 ? round : t.pieces - 1;
    return {memory,
            from,
            t.rounds > 1 ? 1 : t.pieces,
            t.piece_bytes,
            t.piece_step,
            min(t.piece_bytes, t.value_bytes - before * t.piece_bytes),
            t.last_piece_ahead,
            s.programs + t.program,
            t.program_bytes,
            memory + t.value_bytes};
  }

  __device__ const i32* program_of(const QueuedTask& t) const { return reinterpret_cast<const i32*>(memory + t.value_bytes); }

  /// Of the needs of a task, this thread's first one.
  __device__ i32 first_need(const QueuedTask& t) const { return thread() < t.needs ? s.needs[t.need + thread()] : -1; }

  /// One thread: until poll(seen) is true. False if it waits in vain.
  template <class Poll>
  __device__ __forceinline__ bool spin(const Poll& poll) const {
    return cuda::spin(team, cuda::Wait::halo, s.channel, team.rank, cuda::flag_word(pass.epoch, false), poll);
  }

  /// All workers: until the needs of a task are told of. What they have written may still be on its way, but in wide passes. A
  /// wait in vain is told of on the desk. `first`: first_need().
  __device__ void wait_for_hints(const QueuedTask& t, i32 first) const {
    bool lost = false;
    auto wait = [&](i32 need) {
      if constexpr (is_wide)  // mostly it is told of, and one look does
        if (cuda::has_come(cuda::load_acquire(team.mine(s.flags) + need), pass.epoch)) return;
      lost = lost || !spin([&](u32& seen) {
               seen = cuda::load_relaxed(team.mine(s.flags) + need);
               return cuda::has_come(seen, pass.epoch);
             });
      if constexpr (is_wide) cuda::load_acquire(team.mine(s.flags) + need);  // what was told of is there
    };
    if (first >= 0) wait(first);
    for (i32 k = thread() + worker_threads; k < t.needs; k += worker_threads) wait(s.needs[t.need + k]);
    if (lost) desk.lost = true;
    meet_workers();
  }

  /// One thread: what this block's threads had written when they met is there before what it tells of.
  __device__ void fence() const { team.ranks > 1 ? cuda::fence_system() : cuda::fence_device(); }

  /// All workers: gather() until it finds all numbers there, or the desk says that a wait is lost. Mostly they are there at
  /// once; else flags are polled, which are few. `first`: first_need().
  template <class Gather>
  __device__ __forceinline__ void await_numbers(const QueuedTask& t, i32 first, const Gather& gather) const {
#pragma unroll 1
    for (i32 look = 0;; look++) {
      const bool missing = !gather();
      if (missing && look > most_looks) {
        cuda::give_up(team, cuda::Wait::halo, s.channel, team.rank, cuda::flag_word(pass.epoch, false), 0);
        desk.lost = true;
      }
      if (!meet_workers_any(missing && !desk.lost)) return;
      wait_for_hints(t, first);
    }
  }

  /// All workers: what time it is for the first of them, if anybody wants to know.
  __device__ __forceinline__ void stamp(i32 task, u64 TaskTrace::* time) const {
    if (s.times && thread() == 0) s.times[task].*time = cuda::nanoseconds();
  }

  // --- numbers ------------------------------------------------------------------------------------------------------------

  /// One thread: sums of N slots, none where it is < 0; all are on their way at once. False if one is not there: yet, or, where
  /// it `waits` for them, in vain.
  template <int N>
  __device__ __forceinline__ bool load_sums(const i32 (&slots)[N], RowWords<V, K> (&found)[N], bool waits) const {
    const V* const all = team.mine(s.sums) + pass.sums;
    auto look = [&](u32&) {
#pragma unroll
      for (int n = 0; n < N; n++) found[n].load(slots[n] >= 0, all + i64(slots[n]) * K);
      bool there = true;
#pragma unroll
      for (int n = 0; n < N; n++) there = there && found[n].is_there();
      return there;
    };
    u32 seen = 0;
    return look(seen) || (waits && spin(look));
  }

  /// Of one thread: the sums that a row of a front adds up, but the first two. False if one is not there yet.
  __device__ bool add_more_sources(const RowSources& from, V (&to)[K]) const {
    bool there = true;
    for (i32 e = 2; e < from.count; e++) {
      const i32 slot[1] = {s.sources[from.more + e - 2]};
      RowWords<V, K> found[1];
      there = load_sums(slot, found, false) && there;
      found[0].add_to(to);
    }
    return there;
  }

  __device__ void store_result(i32 row, int r, const V& x) const {
    if (is_wide && first_of_K + r >= pass.columns) return;
    pass.result[i64(row) * pass.stride + first_of_K + r] = x;
    look_at(x, pass);
  }
  __device__ void store_result(i32 row, const V* x) const {
#pragma unroll
    for (int r = 0; r < K; r++) store_result(row, r, x[r]);
  }

  /// Here, and where the parent is; the next pass finds their places empty.
  __device__ void store_sums(i64 slot, const V (&sums)[K], u32 readers) const {
    auto store = [&](V* all) {
      store_row<V, K>(all + pass.sums + slot * P + first_of_K, sums);
      if constexpr (!is_wide) empty_row<V, K>(all + pass.next_sums + slot * K);
    };
    store(team.mine(s.sums));
    for (u32 left = readers; left != 0; left &= left - 1) store(team.at(__ffs(int(left)) - 1, s.sums));
  }

  /// Of two columns, r and the next one.
  template <class Two>
  __device__ void store_two_results(i32 row, int r, const Two& x) const {
    store_result(row, r, x.x);
    store_result(row, r + 1, x.y);
  }
  template <class Two>
  __device__ void store_two_sums(i64 slot, int r, const Two& sums, u32 readers) const {
    const V two[2] = {sums.x, sums.y};
    auto store = [&](V* all) {
      store_row<V, 2>(all + pass.sums + slot * P + first_of_K + r, two);
      if constexpr (!is_wide) empty_row<V, 2>(all + pass.next_sums + slot * P + r);
    };
    store(team.mine(s.sums));
    for (u32 left = readers; left != 0; left &= left - 1) store(team.at(__ffs(int(left)) - 1, s.sums));
  }

  __device__ V factor_entry(V a) const {
    if constexpr (sizeof(V) == sizeof(Number))
      return pass.conjugate ? conjugate(a) : a;
    else
      return a;
  }
};

}  // namespace sordino::trsv
