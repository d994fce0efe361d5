// Paper 004's Algorithm 1 (Ding et al. 2021), as corrected: the kernels SOLVE and WAIT, which run at the same time.
//
// Why it cannot hang. WAIT is on the GPU, with both thread blocks, before SOLVE is launched (flag_w), and each of its threads
// looks at what it awaits in turn, and never stops at one. Thread blocks of SOLVE take block columns by ticket, in increasing
// order (004-E11): whichever are on the GPU, they hold the smallest columns that are not done. Of those not done on all ranks
// let K be the smallest: its sums come from columns before it and through WAIT, its x along ranks whose blocks hold K or take
// it next, for they can wait for nothing before K. In the order of blockIdx, which nobody promises, it could hang.
//
// What is written comes before who says so: data, then a fence by a thread that has met those that wrote, then the flag or
// counter; who sees that by an acquire, and those who meet it at a barrier, read the data, past the caches of a multiprocessor.
// Flags have the number of their solve, so nothing is cleared between solves (004-E9), in which all ranks meet on the host: so
// nobody overwrites what is still read. lsum and fmod are set back by the one who reads a sum last.
#include "sordino/trsv/cuda/paper_kernels.hpp"

#include "sordino/runtime/cuda/team.cuh"
#include "sordino/trsv/cuda/solve_memory.cuh"

namespace sordino::trsv::paper {
namespace {

// --- numbers ---------------------------------------------------------------------------------------------------------------

template <class V>
__device__ __forceinline__ void add_atomically(V* to, V value) {
  atomicAdd(to, value);
}
__device__ __forceinline__ void add_atomically(Number* to, Number value) {
  atomicAdd(&to->re, value.re);
  atomicAdd(&to->im, value.im);
}

/// From memory, to be used once.
template <class V>
__device__ __forceinline__ V load_once(const V* p) {
  return __ldcs(p);
}
__device__ __forceinline__ Number load_once(const Number* p) {
  const double2 v = __ldcs(reinterpret_cast<const double2*>(p));
  return {v.x, v.y};
}

/// One thread: take(k, from[k]) of all k, with several on their way at once. Others have written them.
template <class V, class Take>
__device__ __forceinline__ void read_all(const V* from, i32 count, const Take& take) {
  constexpr int some = 64 / sizeof(V);
  for (i32 first = 0; first < count; first += some) {
    V v[some];
#pragma unroll
    for (int u = 0; u < some; u++)
      if (first + u < count) v[u] = load_shared_by_all(from + first + u);
#pragma unroll
    for (int u = 0; u < some; u++)
      if (first + u < count) take(first + u, v[u]);
  }
}

/// Threads side by side along some rows: a power of two. The others share the columns.
__device__ __forceinline__ int threads_along(i32 rows) {
  return rows >= solve_threads ? solve_threads : 1 << (32 - __clz(rows - 1));
}

/// A dense block that stands column by column; of a triangle only the lower half is read.
template <class V>
struct Dense {
  const V* values;
  i32 rows, width;
  bool is_triangle;
};

/// All threads of a block, of which `across` lie along the rows from `first` on: thread k < across gets row first + k of L x.
/// x and `partial` [solve_threads] in shared memory; whoever writes them anew has met all threads before.
template <class V>
__device__ __forceinline__ V row_of_product(const Dense<V>& L, i32 first, int across, const V* x, V* partial) {
  constexpr int some = 64 / sizeof(V);  // loads of a thread on their way at once
  const int thread = int(threadIdx.x), row = thread & (across - 1), group = thread / across, groups = solve_threads / across;
  const i32 i = first + row, columns = i >= L.rows ? 0 : L.is_triangle ? i + 1 : L.width;
  const i64 step = i64(groups) * lead_of(L.rows);
  const V* from = L.values + i64(group) * lead_of(L.rows) + i;
  V sum{};
  for (i32 j = group; j < columns; j += some * groups, from += some * step) {
    V v[some];
#pragma unroll
    for (int u = 0; u < some; u++) v[u] = j + u * groups < columns ? load_once(from + u * step) : V{};
#pragma unroll
    for (int u = 0; u < some; u++)
      if (j + u * groups < columns) sum = sum + v[u] * x[j + u * groups];
  }
  if (groups == 1) return sum;
  for (int other = across; other < 32; other *= 2) sum = sum + shuffle_xor(sum, other);
  const int along = min(across, 32), lane = thread % 32;
  if (across >= 32)
    partial[thread] = sum;
  else if (lane < along)
    partial[thread / 32 * across + lane] = sum;
  __syncthreads();
  V total{};
  if (thread < across)
    for (int k = 0; k < min(groups, solve_threads / 32); k++) total = total + partial[k * across + thread];
  return total;
}

// --- SOLVE and WAIT --------------------------------------------------------------------------------------------------------

/// l.19 - 22, 48 - 50, by one thread: what it added, and what others added that it has met at a barrier since, is there before
/// it counts. The value that the atomic returns decides (004-E4), so that one thread sends. The root has no parent (004-E5),
/// and reads the sum itself.
template <class V>
__device__ void count_down(const cuda::DeviceTeam& team, const PaperTables<V>& t, u32 epoch, i32 I) {
  cuda::fence_device();
  if (atomicSub(t.fmod + I, 1u) != 1) return;
  const RowOnGpu row = t.rows[I];
  if (row.parent < 0) return;
  cuda::fence_device();
  V* const sum = t.lsum + row.first;
  V* const to = team.at(row.parent, t.sums) + (row.slot & 1) * t.n + row.first;
  read_all(sum, row.width, [&](i32 k, V value) {
    to[k] = value;
    sum[k] = V{};
  });
  t.fmod[I] = row.fmod;
  cuda::raise(team.at(row.parent, t.flag_sum) + row.slot, epoch);
}

/// What the threads of a block of SOLVE share.
template <class V>
struct Desk {
  ColumnOnGpu column;
  u32 ticket;
  V operand[solve_threads], partial[solve_threads];
  V x[solve_threads];  // ready_x(K)
};

/// A thread block and its block column; all threads call each of its functions, together.
template <class V>
struct Solver {
  const cuda::DeviceTeam& team;
  const PaperTables<V>& t;
  const PaperPass<V>& pass;
  Desk<V>& desk;

  static __device__ int thread() { return int(threadIdx.x); }

  /// False: none is left.
  __device__ bool take_column() const {
    __syncthreads();
    if (thread() < 32) {
      u32 ticket = 0;
      if (thread() == 0) ticket = atomicAdd(t.tickets, 1u) - pass.first_ticket;
      ticket = __shfl_sync(~0u, ticket, 0);
      if (thread() == 0) desk.ticket = ticket;
      if (ticket < u32(t.count) && thread() < int(sizeof(ColumnOnGpu) / sizeof(u32)))
        reinterpret_cast<u32*>(&desk.column)[thread()] = reinterpret_cast<const u32*>(t.columns + ticket)[thread()];
    }
    __syncthreads();
    return desk.ticket < u32(t.count);
  }

  /// l.10 - 13 where L(K, K) is, with its inverse, as SuperLU's option DiagInv has it. False if the wait is lost.
  __device__ bool compute_x() const {
    const ColumnOnGpu& c = desk.column;
    const bool has_row = thread() < c.width;
    const i64 row = has_row ? t.order[c.first + thread()] * pass.stride : 0;
    const V b = has_row ? pass.b[row] : V{};
    bool lost = false;
    if (thread() == 0)  // l.11
      lost = !cuda::spin(team, cuda::Wait::own_blocks, t.channel, team.rank, 0, [&](u32& seen) {
        const u32 left = cuda::load_acquire(t.fmod + c.K);
        seen = left << 1;
        return left == 0;
      });
    if (__syncthreads_or(lost)) return false;
    V* const sum = t.lsum + c.first + thread();
    if (has_row) {
      desk.operand[thread()] = b - load_shared_by_all(sum);  // l.12, 004-E2
      *sum = V{};
    }
    if (thread() == 0) t.fmod[c.K] = t.rows[c.K].fmod;
    __syncthreads();
    const V x = row_of_product<V>({t.values + c.inverse, c.width, c.width, true}, 0, threads_along(c.width), desk.operand,
                                  desk.partial);
    if (has_row) {
      desk.x[thread()] = x;  // 004-E3
      pass.result[row] = x;
    }
    __syncthreads();
    return true;
  }

  /// l.14, 15, from memory of this rank. False if the wait is lost.
  __device__ bool receive_x() const {
    const ColumnOnGpu& c = desk.column;
    const bool lost = thread() == 0 && !cuda::wait_flag(team, team.mine(t.flag_x) + c.K, pass.epoch, t.channel, c.parent);
    if (__syncthreads_or(lost)) return false;
    if (thread() < c.width) desk.x[thread()] = load_shared_by_all(team.mine(t.x) + c.first + thread());
    __syncthreads();
    return true;
  }

  /// l.16: the block puts the data, one thread the flag.
  __device__ void send_x() const {
    const ColumnOnGpu& c = desk.column;
    if (c.children[0] < 0) return;
    for (i32 child : c.children)
      if (child >= 0 && thread() < c.width) team.at(child, t.x)[c.first + thread()] = desk.x[thread()];
    __syncthreads();
    const int which = thread() / 32;
    if (thread() % 32 == 0 && which < 2 && c.children[which] >= 0)
      cuda::raise(team.at(c.children[which], t.flag_x) + c.K, pass.epoch);
  }

  /// l.17 - 23: rows of all blocks below, as many at a time as there are threads for; blocks whose last row is among them are
  /// counted, each by a thread of its own. Atomic additions (004-E4).
  __device__ void multiply() const {
    const ColumnOnGpu& c = desk.column;
    const Dense<V> panel{t.values + c.panel, c.rows, c.width, false};
    i64 counted = c.block;
    for (i32 first = 0; first < c.rows;) {
      const int across = threads_along(c.rows - first);
      const i32 i = first + thread(), last = min(first + across, c.rows);
      const bool has_row = i < last;
      const i32 target = has_row ? t.targets[c.target + i] : 0;
      const bool has_block = counted + thread() < c.end;
      const BlockOnGpu block = has_block ? t.blocks[counted + thread()] : BlockOnGpu{};
      const V sum = row_of_product(panel, first, across, desk.x, desk.partial);
      if (has_row) add_atomically(t.lsum + target, sum);
      __syncthreads();
      const bool ends = has_block && block.end <= last;
      if (ends) count_down(team, t, pass.epoch, block.I);
      counted += __syncthreads_count(ends);
      first = last;
    }
  }
};

template <class V>
__global__ void __launch_bounds__(solve_threads, sizeof(V) > 8 ? 4 : 5) solve(const __grid_constant__ cuda::DeviceTeam team,
                                                                              const __grid_constant__ PaperTables<V> t,
                                                                              const __grid_constant__ PaperPass<V> pass) {
  __shared__ Desk<V> desk;
  const Solver<V> s{team, t, pass, desk};
  do {
    if (!s.take_column()) return;
    if (!(desk.column.inverse >= 0 ? s.compute_x() : s.receive_x())) return;
    s.send_x();
    s.multiply();  // l.24 belongs before l.16 (004-E3)
  } while (gridDim.x < u32(t.count));
}

/// Thread block 0 awaits x, 1 awaits sums. A thread's part of the mask are the zeros that are left, the first `left` of its
/// list; what has come goes behind them (l.31, 004-E8), so that the list is whole again for the next solve. The loop is one for
/// all threads of a warp: none stops at a message while another has come that it must act on.
template <class V>
__global__ void __launch_bounds__(wait_threads, 1) wait(const __grid_constant__ cuda::DeviceTeam team,
                                                        const __grid_constant__ PaperTables<V> t,
                                                        const __grid_constant__ PaperPass<V> pass) {
  const int actor = int(blockIdx.x), thread = int(threadIdx.x);
  if (thread == 0) cuda::store_relaxed(t.flag_w + actor, pass.epoch);  // l.27
  Awaited* const mask = t.masks[actor] + t.shares[actor][thread];
  const u32* const flags = team.mine(actor == 0 ? t.flag_x : t.flag_sum);
  i32 left = t.shares[actor][thread + 1] - t.shares[actor][thread];
  u64 memory = 1;
  i32 at = 0;
  for (u32 polls = 1; left > 0; polls++) {  // l.29, 35; l.30, 36 is a look at each in turn
    const Awaited one = mask[at];
    const u32 seen = cuda::load_acquire(flags + one.index);
    if (cuda::has_come(seen, pass.epoch)) {
      left--;
      mask[at] = mask[left];
      mask[left] = one;
      if (actor == 1) {  // l.38 - 47, 004-E6, E7: what has come, and no other
        const i32 I = one.index / 2;
        const RowOnGpu& row = t.rows[I];
        V* const sum = t.lsum + row.first;
        read_all(team.mine(t.sums) + (one.index & 1) * t.n + row.first, row.width,
                 [&](i32 k, V value) { add_atomically(sum + k, value); });
        count_down(team, t, pass.epoch, I);
      }
      polls = 0, memory = 1;
    } else {
      if ((polls & 0x3ff) == 0)
        memory = cuda::go_on_waiting(&team, memory, polls, cuda::Wait::halo, t.channel, one.from,
                                     cuda::flag_word(pass.epoch, false), seen);
      if (memory == 0) return;
      at++;
    }
    if (at >= left) at = 0;
  }
}

}  // namespace

template <class V>
PaperKernel<V> kernel_solve() {
  return solve<V>;
}
template <class V>
PaperKernel<V> kernel_wait() {
  return wait<V>;
}

template PaperKernel<float> kernel_solve();
template PaperKernel<double> kernel_solve();
template PaperKernel<Number> kernel_solve();
template PaperKernel<float> kernel_wait();
template PaperKernel<double> kernel_wait();
template PaperKernel<Number> kernel_wait();

}  // namespace sordino::trsv::paper
