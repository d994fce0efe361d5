// Device code: a thread block that takes tasks of its rank's queue, one after the other. Four warps, the workers, compute. A
// fifth one, the courier, does beside them what is slow and needs few threads (courier.cuh): it takes tickets, lets the values
// of the next task come as soon as those of this one have been used, and tells of what is done. Four such blocks share a
// multiprocessor, and what one waits for the others hide.
#pragma once
#include "sordino/runtime/cuda/team.cuh"
#include "sordino/trsv/cuda/copy_ahead.cuh"
#include "sordino/trsv/cuda/meetings.cuh"
#include "sordino/trsv/cuda/solve_memory.cuh"
#include "sordino/trsv/cuda/solve_tables.hpp"
#include "sordino/trsv/cuda/subtree_program.hpp"

namespace sordino::trsv {

inline constexpr i32 most_small_blocks = 256;  // of subtrees that are one task

/// What all threads of a block share, beside its dynamic memory.
struct Desk {
  QueuedTask task[2];
  u32 ticket[2];
  CopyAhead copy;
  volatile bool lost;                // a wait was in vain: the block ends
  i32 taken;                         // small blocks
  i32 waits_for[most_small_blocks];  // of a small block: how many others it still waits for
};

template <class V, int K>
struct Worker {
  const cuda::DeviceTeam& team;
  const SolveTables<V>& s;
  const SolvePass<V>& pass;
  Desk& desk;
  char* memory;  // dynamic: values and program, operands [columns][K], and what a task makes

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
            s.programs + t.program,
            t.program_bytes};
  }

  /// Of the needs of a task, this thread's first one.
  __device__ i32 first_need(const QueuedTask& t) const { return thread() < t.needs ? s.needs[t.need + thread()] : -1; }

  /// All workers: false if the wait is lost, or another one was. `first`: first_need().
  __device__ bool wait_for_needs(const QueuedTask& t, i32 first) const {
    bool lost = false;
    auto wait = [&](i32 need) {
      lost = lost || !cuda::wait_flag(team, team.mine(s.flags) + need, pass.epoch, s.channel, team.rank);
    };
    if (first >= 0) wait(first);
    for (i32 k = thread() + worker_threads; k < t.needs; k += worker_threads) wait(s.needs[t.need + k]);
    if (lost) desk.lost = true;
    meet_workers();
    return !desk.lost;
  }

  /// One thread: what time it is, if anybody wants to know.
  __device__ u64 clock() const { return s.times ? cuda::nanoseconds() : 0; }

  // --- numbers ------------------------------------------------------------------------------------------------------------

  /// Of a column in the order of the blocks.
  __device__ V b(i32 column, int r) const { return pass.b[i64(column) * K + r]; }

  /// Sums of all slots that a row's front adds up. The first two are on their way at once.
  __device__ void add_sources(const RowSources& from, V (&to)[K]) const {
    V first[K] = {}, second[K] = {};
    if (from.count > 0) load_sums(from.first, first);
    if (from.count > 1) load_sums(from.second, second);
#pragma unroll
    for (int r = 0; r < K; r++) to[r] = to[r] + first[r] + second[r];
    for (i32 e = 2; e < from.count; e++) {
      load_sums(s.sources[from.more + e - 2], first);
#pragma unroll
      for (int r = 0; r < K; r++) to[r] = to[r] + first[r];
    }
  }
  __device__ void load_sums(i32 slot, V (&to)[K]) const { load_row<V, K>(team.mine(s.sums) + i64(slot) * K, to); }

  __device__ void store_result(i32 row, const V* x) const {
#pragma unroll
    for (int r = 0; r < K; r++) pass.result[i64(row) * pass.stride + r] = x[r];
  }

  /// Here, and where the parent is.
  __device__ void store_sums(i64 slot, const V (&sums)[K], u32 readers) const {
    store_row<V, K>(team.mine(s.sums) + slot * K, sums);
    for (u32 left = readers; left != 0; left &= left - 1)
      store_row<V, K>(team.at(__ffs(int(left)) - 1, s.sums) + slot * K, sums);
  }

  __device__ V factor_entry(V a) const {
    if constexpr (sizeof(V) == sizeof(Number))
      return pass.conjugate ? conjugate(a) : a;
    else
      return a;
  }
};

/// All threads: whether what goes on may go on: on all ranks the pass before has ended, so nobody still reads what is written
/// now.
template <class V>
__device__ bool wait_for_last_pass(const cuda::DeviceTeam& team, const SolveTables<V>& s, u32 epoch) {
  bool lost = false;
  if (team.ranks > 1 && threadIdx.x < u32(team.ranks))
    lost = !cuda::wait_flag(team, team.mine(s.ended) + threadIdx.x, epoch - 1, s.channel, i32(threadIdx.x));
  return !__syncthreads_or(lost);
}

/// All threads, at the end: the last block tells all ranks.
template <class V>
__device__ void end_pass(const cuda::DeviceTeam& team, const SolveTables<V>& s, u32 epoch) {
  __shared__ bool is_last;
  if (team.ranks == 1) return;
  __syncthreads();
  if (threadIdx.x == 0) is_last = cuda::is_last_block(s.leaving, gridDim.x);
  __syncthreads();
  if (is_last && threadIdx.x < u32(team.ranks)) cuda::raise(team.at(i32(threadIdx.x), s.ended) + team.rank, epoch);
}

}  // namespace sordino::trsv
