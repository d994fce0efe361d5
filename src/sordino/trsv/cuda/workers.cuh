// Device code: a thread block that takes tasks of its rank's queue, one after the other. The next one's values come into the L2
// cache while this one is computed, so a task that still waits costs no memory's time.
#pragma once
#include "sordino/runtime/cuda/team.cuh"
#include "sordino/trsv/cuda/solve_memory.cuh"
#include "sordino/trsv/cuda/solve_tables.hpp"

namespace sordino::trsv {

inline constexpr int worker_threads = 256, worker_warps = worker_threads / 32;
inline constexpr i32 most_small_blocks = 1024;  // of subtrees that are one task

/// What all threads of a block share, beside its dynamic memory.
struct Desk {
  QueuedTask task, next;
  u32 next_ticket;
  i32 taken;                        // small blocks
  i32 waits_for[most_small_blocks];  // of a small block: how many others it still waits for
};

template <class V, int K>
struct Worker {
  const cuda::DeviceTeam& team;
  const SolveTables<V>& s;
  const SolvePass<V>& pass;
  Desk& desk;
  V* memory;  // dynamic: see solve_memory()

  static __device__ int thread() { return int(threadIdx.x); }
  static __device__ int warp() { return int(threadIdx.x) / 32; }
  static __device__ int lane() { return int(threadIdx.x) % 32; }

  // --- taking tasks -------------------------------------------------------------------------------------------------------

  /// One thread.
  __device__ void take_ticket() {
    desk.next_ticket = atomicAdd(s.tickets, 1u) - pass.first_ticket;
    if (desk.next_ticket < u32(s.count)) desk.next = s.tasks[desk.next_ticket];
  }

  /// One warp: what the next task reads is asked for.
  __device__ void let_next_come() const {
    if (desk.next_ticket >= u32(s.count)) return;
    const QueuedTask& t = desk.next;
    if (t.kind == Task::Kind::columns) {
      const Block b = s.blocks[t.block];
      for (i32 k = t.first / strip_rows + lane(); k < b.strips(); k += 32) {
        const Strip strip = strip_of(b, k);
        let_values_come(s.values + s.strips[b.strip + k] + i64(t.first) * strip.lead, i64(t.end - t.first) * strip.lead);
      }
    } else {
      constexpr i64 piece = 16 << 10;  // bytes
      for (i64 at = lane() * piece; at < t.value_bytes; at += 32 * piece)
        let_bytes_come(reinterpret_cast<const char*>(s.values + t.values) + at, min(piece, t.value_bytes - at));
    }
  }
  static __device__ void let_values_come(const V* values, i64 count) {
    let_bytes_come(reinterpret_cast<const char*>(values), count * i64(sizeof(V)));
  }
  static __device__ void let_bytes_come(const char* at, i64 bytes) {
    const u64 begin = reinterpret_cast<u64>(at) & ~u64(15), end = (reinterpret_cast<u64>(at) + u64(bytes) + 15) & ~u64(15);
    let_come(reinterpret_cast<const void*>(begin), u32(end - begin));
  }

  /// All threads: false if the wait is lost.
  __device__ bool wait_for_needs(const QueuedTask& t) const {
    bool lost = false;
    for (i32 k = thread(); k < t.needs && !lost; k += worker_threads)
      lost = !cuda::wait_flag(team, team.mine(s.flags) + s.needs[t.need + k], pass.epoch, s.channel, team.rank);
    return !__syncthreads_or(lost);
  }

  /// All threads: what they have written is there for whoever sees the flags.
  __device__ void tell(const QueuedTask& t) const {
    __syncthreads();
    if (thread() >= team.ranks) return;
    const bool own = thread() == team.rank;
    if (!own && !(t.readers >> thread() & 1)) return;
    if (t.readers != 0)
      cuda::fence_system();
    else
      cuda::fence_device();
    cuda::store_relaxed(team.at(thread(), s.flags) + t.id, cuda::flag_word(pass.epoch, false));
  }

  /// One thread: what time it is, if anybody wants to know.
  __device__ u64 clock() const { return s.times ? cuda::nanoseconds() : 0; }

  // --- numbers ------------------------------------------------------------------------------------------------------------

  __device__ V b(i32 column, int r) const { return pass.b[i64(s.order[column]) * pass.stride + r]; }

  /// Of the children, for row i of a block's front.
  __device__ void add_sources(const Block& block, i32 i, V (&to)[K]) const {
    const V* const sums = team.mine(s.sums);
    const i32 end = s.source_begin[block.source + i + 1];
    for (i32 e = s.source_begin[block.source + i]; e < end; e++) {
      const V* const from = sums + i64(s.sources[e]) * K;
#pragma unroll
      for (int r = 0; r < K; r++) to[r] = to[r] + load_shared_by_all(from + r);
    }
  }

  /// Column j's right-hand sides less what the children have for it.
  __device__ void operand(const Block& block, i32 j, V* to) const {
    V sum[K] = {};
    add_sources(block, j, sum);
#pragma unroll
    for (int r = 0; r < K; r++) to[r] = b(block.column + j, r) - sum[r];
  }

  __device__ void store_result(const Block& block, i32 column, const V (&x)[K]) const {
#pragma unroll
    for (int r = 0; r < K; r++) pass.result[i64(s.order[block.column + column]) * pass.stride + r] = x[r];
  }

  /// Row i of a front: a column's x, or sums for the parent, here and where the parent is.
  __device__ void store_row(const Block& block, i32 i, V (&product)[K], u32 readers) const {
    if (i < block.width) return store_result(block, i, product);
    V sum[K] = {};
    add_sources(block, i, sum);
    const i64 at = (block.slot + i - block.width) * K;
#pragma unroll
    for (int r = 0; r < K; r++) {
      const V value = sum[r] + product[r];
      team.mine(s.sums)[at + r] = value;
      for (u32 left = readers; left != 0; left &= left - 1) team.at(__ffs(int(left)) - 1, s.sums)[at + r] = value;
    }
  }

  __device__ V factor_entry(V a) const {
    if constexpr (sizeof(V) == sizeof(Number))
      return pass.conjugate ? conjugate(a) : a;
    else
      return a;
  }
};

/// All threads: whether what goes on may go on: on all ranks the pass before has ended, so nobody still reads what is written now.
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
