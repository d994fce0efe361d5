// Device code: a thread block that takes tasks of its rank's queue, one after the other. One warp of it takes the next one
// while the others are busy, and lets its values come as soon as they are done with those of this one: while they store, tell,
// look ahead and wait. Four such blocks share a multiprocessor, and what one waits for the others hide.
#pragma once
#include "sordino/runtime/cuda/team.cuh"
#include "sordino/trsv/cuda/copy_ahead.cuh"
#include "sordino/trsv/cuda/passes.cuh"
#include "sordino/trsv/cuda/solve_memory.cuh"
#include "sordino/trsv/cuda/solve_tables.hpp"
#include "sordino/trsv/cuda/subtree_program.hpp"

namespace sordino::trsv {

inline constexpr int worker_threads = 128, worker_warps = worker_threads / 32;  // beside those of the fetching warp
inline constexpr i32 most_small_blocks = 256;                                   // of subtrees that are one task

/// What all threads of a block share, beside its dynamic memory.
struct Desk {
  QueuedTask task[2];
  u32 ticket[2];
  CopyAhead copy;
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
  static __device__ bool fetches() { return warp() == worker_warps; }
  __device__ V* operands() const { return reinterpret_cast<V*>(memory + s.buffer_bytes); }
  __device__ V* products() const { return operands() + i64(s.operands) * K; }

  // --- tasks --------------------------------------------------------------------------------------------------------------

  /// The fetching warp: takes the next ticket, and looks what task that is.
  __device__ void fetch(int slot) const {
    u32 ticket = 0;
    if (lane() == 0) ticket = atomicAdd(s.tickets, 1u) - pass.first_ticket;
    ticket = __shfl_sync(~0u, ticket, 0);
    if (lane() == 0) desk.ticket[slot] = ticket;
    if (ticket < u32(s.count) && lane() < int(sizeof(QueuedTask) / sizeof(u32)))
      reinterpret_cast<u32*>(&desk.task[slot])[lane()] = reinterpret_cast<const u32*>(s.tasks + ticket)[lane()];
    __syncwarp();
  }
  /// The fetching warp, once nobody needs the values of the task before.
  __device__ void let_come(int slot) const {
    const QueuedTask& t = desk.task[slot];
    if (lane() == 0 && desk.ticket[slot] < u32(s.count) && t.value_bytes > 0)
      desk.copy.start(memory, s.values + t.values, t.value_bytes, s.programs + t.program, t.program_bytes);
  }

  /// Of the needs of a task, this thread's first one.
  __device__ i32 first_need(const QueuedTask& t) const { return thread() < t.needs ? s.needs[t.need + thread()] : -1; }

  /// All threads: false if the wait is lost. `first`: first_need().
  __device__ bool wait_for_needs(const QueuedTask& t, i32 first) const {
    bool lost = false;
    auto wait = [&](i32 need) {
      lost = lost || !cuda::wait_flag(team, team.mine(s.flags) + need, pass.epoch, s.channel, team.rank);
    };
    if (first >= 0) wait(first);
    for (i32 k = thread() + worker_threads + 32; k < t.needs; k += worker_threads + 32) wait(s.needs[t.need + k]);
    return !__syncthreads_or(lost);
  }

  /// All threads: what they have written is there for whoever sees the flags. Behind the barrier the task may be another one.
  __device__ void tell(u32 readers, i32 id) const {
    __syncthreads();
    if (thread() >= team.ranks) return;
    const bool own = thread() == team.rank;
    if (!own && !(readers >> thread() & 1)) return;
    if (readers != 0)
      cuda::fence_system();
    else
      cuda::fence_device();
    cuda::store_relaxed(team.at(thread(), s.flags) + id, cuda::flag_word(pass.epoch, false));
  }

  /// One thread: what time it is, if anybody wants to know.
  __device__ u64 clock() const { return s.times ? cuda::nanoseconds() : 0; }

  // --- numbers ------------------------------------------------------------------------------------------------------------

  __device__ V b(i32 row, int r) const { return pass.b[i64(row) * pass.stride + r]; }

  /// Sums of all slots that a row's front adds up.
  __device__ void add_sources(const RowSources& from, V (&to)[K]) const {
    const V* const sums = team.mine(s.sums);
    auto add = [&](i32 slot) {
#pragma unroll
      for (int r = 0; r < K; r++) to[r] = to[r] + load_shared_by_all(sums + i64(slot) * K + r);
    };
    if (from.count > 0) add(from.first);
    if (from.count > 1) add(from.second);
    for (i32 e = 2; e < from.count; e++) add(s.sources[from.more + e - 2]);
  }

  __device__ void store_result(i32 row, const V* x) const {
#pragma unroll
    for (int r = 0; r < K; r++) pass.result[i64(row) * pass.stride + r] = x[r];
  }

  /// Here, and where the parent is.
  __device__ void store_sums(i64 slot, const V (&sums)[K], u32 readers) const {
#pragma unroll
    for (int r = 0; r < K; r++) {
      team.mine(s.sums)[slot * K + r] = sums[r];
      for (u32 left = readers; left != 0; left &= left - 1) team.at(__ffs(int(left)) - 1, s.sums)[slot * K + r] = sums[r];
    }
  }

  __device__ V factor_entry(V a) const {
    if constexpr (sizeof(V) == sizeof(Number))
      return pass.conjugate ? conjugate(a) : a;
    else
      return a;
  }
};

}  // namespace sordino::trsv
