// Device code, for authors of kernels: reductions, values, signals, puts and barriers between the devices of a team, from
// inside kernels. No host takes part, and no library.
//
// Who calls: it is said of each function whether one thread, one warp or all threads of a block call it, together.
// Waits: each is bounded by the team's timeout and ends when any rank has failed. It then returns false, and the kernel is to
// return: what comes after it, in this kernel and later ones, is void. The host's TeamRank::wait() throws the cause.
// Epochs: each use of slots or signals has the number of the one before, plus one, on all ranks. A loop inside a kernel counts
// in a register; kernels that are replayed from a graph find the number in device memory.
// Co-residency: a rank whose kernel is not running yet cannot answer. A block may wait for other ranks if those have, or get,
// a device each, and for other blocks of its own grid if the grid was launched `resident`. Ranks that share a device must not
// wait for each other on it: there, let what sends end before what receives begins.
#pragma once
#include "sordino/runtime/cuda/device_team.hpp"
#include "sordino/runtime/cuda/sums.cuh"

namespace sordino::cuda {

/// The others learn of it at once, without a host.
__device__ inline void give_up(const DeviceTeam& t, Wait what, i32 channel, i32 from, u32 expected, u32 seen) {
  record_fault(*t.control, {what, 0, 0, channel, from, expected >> 1, seen >> 1});
  store_relaxed(&t.engine->abort, 1);
}

/// One thread: counts one on, and returns the new epoch. For what is kept in device memory.
__device__ inline u32 advance(u32* counter) {
  u32 epoch = load_relaxed(counter) + 1;
  store_relaxed(counter, epoch);
  return epoch;
}

// --- values and reductions -------------------------------------------------------------------------------------------------
// A value and its epoch are one packet of 16 bytes, so it needs no flag and no fence. It orders nothing else: data that goes
// with it takes a signal.

/// One thread: sends a value to a rank, through place k of my slots there.
__device__ inline void send(const DeviceTeam& t, const TeamSlots& s, i32 to, u32 epoch, double value, i32 k = 0) {
  store_packet(t.at(to, s.packets) + ((epoch & 1) * t.ranks + t.rank) * s.values + k, {value, flag_word(epoch, false)});
}

/// One thread: takes what rank `from` sent with this epoch. The sender may be one epoch ahead, not two.
__device__ inline bool receive(const DeviceTeam& t, const TeamSlots& s, i32 from, u32 epoch, double& value, i32 k = 0) {
  Packet got;
  const Packet* packet = t.mine(s.packets) + ((epoch & 1) * t.ranks + from) * s.values + k;
  if (!await_packet(t, packet, epoch, s.channel, from, got)) return false;
  value = got.value;
  return true;
}

/// One warp whose lane k < K has the k-th value: sends them to all ranks. Costs one store of 16 bytes for each value and rank.
template <int K>
__device__ inline void push_values(const DeviceTeam& t, const TeamSlots& s, u32 epoch, double value) {
  i32 place = ((epoch & 1) * t.ranks + t.rank) * K;
  auto to = [&](i32 target) { return t.at(target, s.packets) + place; };
  push_sums(K, t.ranks, value, flag_word(epoch, false), place_of_packet(K, t.ranks, threadIdx.x % 32, to), to);
}

/// One warp: lane k < K gets the sum of all ranks' k-th values, added in the order of the ranks: the same bits everywhere. If
/// `epoch` is still on its way from memory (not `at_hand`), packets of both parities are asked for meanwhile.
template <int K, bool at_hand>
__device__ inline bool take_sums(const DeviceTeam& t, const TeamSlots& s, u32 epoch, double& sum) {
  static_assert(K >= 1 && K <= most_values);
  // Neighbouring lanes take neighbouring packets, so a warp's packets are one load: where all blocks of a grid ask at once,
  // loads of one line stand in a queue.
  constexpr int half = at_hand ? 32 : 16, ahead = half / K;  // lanes for one parity; ranks that they ask at once
  int lane = threadIdx.x & 31, j = lane % half / K, k = lane % half % K;
  int parity = at_hand ? epoch & 1 : lane / half;
  const Packet* from = t.mine(s.packets) + parity * t.ranks * K + k;
  bool lost = false;
  double total = 0;
#pragma unroll 1
  for (i32 first = 0; first < t.ranks; first += ahead) {
    i32 rank = first + j;
    bool asks = j < ahead && rank < t.ranks;
    Packet got{};
    if (asks) got = load_packet(from + rank * K);
    asks = asks && parity == int(epoch & 1) && !lost;
    if (asks)
      lost = !spin(t, Wait::reduction, s.channel, rank, flag_word(epoch, false), [&](u32& seen) {
        seen = u32(got.tag);
        if (is_epoch(seen, epoch)) return true;
        got = load_packet(from + rank * K);
        return false;
      });
    int lane_of_first = (at_hand ? 0 : int(epoch & 1) * half) + k;
#pragma unroll 4
    for (int i = 0; i < min(ahead, t.ranks - first); i++) total += __shfl_sync(~0u, got.value, lane_of_first + i * K);
  }
  if (lane < K) sum = total;
  return !__any_sync(~0u, lost);
}

/// One warp: all-reduce inside a kernel. Lane k < K brings the k-th value and gets its sum over all ranks, with the same bits
/// on all of them. K is what the slots were made for. One message of 16 bytes a value to each rank, and the way there.
template <int K>
__device__ inline bool all_reduce(const DeviceTeam& t, const TeamSlots& s, u32 epoch, double& value) {
  push_values<K>(t, s, epoch, value);
  return take_sums<K, true>(t, s, epoch, value);
}

/// The epoch of the last use; and, from one thread when all is done, the one to go on from.
__device__ inline u32 last_epoch(const DeviceTeam& t, const TeamSlots& s) { return load_relaxed(t.mine(s.epoch)); }
__device__ inline void keep_epoch(const DeviceTeam& t, const TeamSlots& s, u32 epoch) { store_relaxed(t.mine(s.epoch), epoch); }

/// All threads: whether the slots were made for so many blocks. If not, that is a fault.
__device__ inline bool has_places(const DeviceTeam& t, const TeamSlots& s, u32 blocks) {
  if (blocks <= u32(s.most_blocks)) return true;
  if (threadIdx.x == 0) give_up(t, Wait::nothing, s.channel, s.most_blocks, 0, 0);
  return false;
}

/// All threads of all blocks, in the tail of a kernel: adds `sums` of all threads and sends them to all ranks. Does not wait
/// for other ranks. The last block of the grid waits for the sums of the blocks before it, which run or have run. Counts the
/// epoch by itself, so it can be replayed. A reduction must be finished on this rank before it is started again. `threads` of
/// a block; no more blocks than the slots were made for.
template <int K, int threads = block_threads>
__device__ inline void start_reduction(const DeviceTeam& t, const TeamSlots& s, double (&sums)[K]) {
  __shared__ double warp_sum[most_values][threads / 32];
  if (!has_places(t, s, gridDim.x)) return;
  // A warp asks, not eight: all blocks do at once, and loads of one line stand in a queue.
  u32 epoch = threadIdx.x < 32 || blockIdx.x == gridDim.x - 1 ? last_epoch(t, s) + 1 : 0;
  __syncthreads();  // warp_sum may be in use by a reduction started just before
  double sum;
  if (!grid_sum<K>(t, {t.mine(s.partials), s.most_blocks, s.channel}, epoch, sums, warp_sum, sum)) return;
  if (threadIdx.x < 32) push_values<K>(t, s, epoch, sum);
  if (threadIdx.x == 0) keep_epoch(t, s, epoch);  // all blocks have handed in: none still reads it
}

/// All threads of a block, in the head of a later kernel (not in the one that started it: there the epoch may not be counted
/// yet): all get the sums of the reduction started last. Any number of blocks may do so. Behind wait_for_previous_command(), if
/// kernels are chained.
template <int K>
__device__ inline bool finish_reduction(const DeviceTeam& t, const TeamSlots& s, double (&sums)[K]) {
  __shared__ double finished[K];
  __syncthreads();  // `finished` may be in use by a reduction finished just before
  bool lost = false;
  if (threadIdx.x < 32) {
    double sum = 0;
    lost = !take_sums<K, false>(t, s, last_epoch(t, s), sum);
    if (threadIdx.x < K) finished[threadIdx.x] = sum;
  }
  if (__syncthreads_or(lost)) return false;
#pragma unroll
  for (int k = 0; k < K; k++) sums[k] = finished[k];
  return true;
}

/// What this thread knows to be written is written, on the devices of the team, before anything it writes next.
__device__ inline void fence_team(const DeviceTeam& t) {
  if (t.ranks > 1)
    fence_system();
  else
    fence_device();
}

/// All threads of all blocks of a grid that was launched `resident`, on all ranks: adds `sums` of all of them, and all get the
/// same bits. If it `orders`, what any of them wrote before is visible to all afterwards, ghosts on other ranks too: a barrier
/// of the team. One use at a time, each with the epoch of the one before, plus one; slots made for K values and twice as many
/// blocks. Costs: the blocks' packets to the last one, the way to the other ranks, and a poll. One GPU with few blocks saves
/// the second: there each collects for itself. If it orders: two to four fences on that path.
template <int K, bool orders = false, int threads = block_threads>
__device__ inline bool grid_all_reduce(const DeviceTeam& t, const TeamSlots& s, u32 epoch, double (&sums)[K]) {
  constexpr u32 few_blocks = 160;
  __shared__ double warp_sum[most_values][threads / 32];
  __shared__ double total[K];
  if (!has_places(t, s, 2 * gridDim.x)) return false;
  const bool each_collects = t.ranks == 1 && gridDim.x <= few_blocks, first_warp = threadIdx.x < 32;
  const bool fences = orders && (t.ranks > 1 || gridDim.x > 1);
  __syncthreads();  // shared memory may be in use by a reduction just before; what the block wrote is known to its first warp
  if (fences && first_warp) fence_team(t);
  // Who is ahead hands in its next sum while another still collects this one: they lie in other places.
  Partials at{t.mine(s.partials) + (epoch & 1) * gridDim.x, s.most_blocks, s.channel};
  double sum = 0;
  bool has =
      each_collects ? grid_sum<K, true>(t, at, epoch, sums, warp_sum, sum) : grid_sum<K>(t, at, epoch, sums, warp_sum, sum);
  if (fences && has && gridDim.x > 1) fence_team(t);  // by all threads that have looked at packets
  bool lost = each_collects && !has;
  if (!each_collects) {
    if (fences && has && gridDim.x > 1) {
      __syncthreads();
      if (first_warp) fence_team(t);
    }
    if (first_warp) {
      if (has) push_values<K>(t, s, epoch, sum);
      lost = !take_sums<K, true>(t, s, epoch, sum);
      if (fences) fence_team(t);
    }
  }
  if (threadIdx.x < K) total[threadIdx.x] = sum;
  if (__syncthreads_or(lost)) return false;
#pragma unroll
  for (int k = 0; k < K; k++) sums[k] = total[k];
  return true;
}

// --- signals ---------------------------------------------------------------------------------------------------------------

SORDINO_HD constexpr bool has_come(u32 word, u32 epoch) { return i32(word - flag_word(epoch, false)) >= 0; }

/// One thread: raises a flag, on any rank. What this thread has written before, and what threads have written that it met at
/// a barrier since, is there first. Costs a fence: all stores on their way must have arrived.
__device__ inline void raise(u32* flag, u32 epoch) {
  fence_system();
  store_relaxed(flag, flag_word(epoch, false));
}
/// One thread: waits until a flag in own memory is raised to this epoch, or beyond. What the other side had written before is
/// then visible to this thread, and to threads that meet it at a barrier afterwards. `channel` and `from` are for errors.
__device__ inline bool wait_flag(const DeviceTeam& t, const u32* flag, u32 epoch, i32 channel, i32 from) {
  return spin(t, Wait::halo, channel, from, flag_word(epoch, false), [&](u32& seen) {
    seen = load_acquire(flag);
    return has_come(seen, epoch);
  });
}

/// One thread: raises my flag on rank `to`; see raise().
__device__ inline void signal(const DeviceTeam& t, const TeamSignals& s, i32 to, u32 epoch) {
  raise(t.at(to, s.flags) + t.rank * flag_stride, epoch);
}
/// The same, by a thread that has passed a fence since it knew of all that was written.
__device__ inline void signal_fenced(const DeviceTeam& t, const TeamSignals& s, i32 to, u32 epoch) {
  store_relaxed(t.at(to, s.flags) + t.rank * flag_stride, flag_word(epoch, false));
}
/// One thread: waits for the flag of rank `from`; see wait_flag().
__device__ inline bool wait_signal(const DeviceTeam& t, const TeamSignals& s, i32 from, u32 epoch) {
  return wait_flag(t, t.mine(s.flags) + from * flag_stride, epoch, s.channel, from);
}

/// One warp: waits for the flags of all ranks whose bit is set.
__device__ inline bool wait_signals(const DeviceTeam& t, const TeamSignals& s, u32 ranks, u32 epoch) {
  int lane = threadIdx.x & 31;
  bool lost = lane < t.ranks && (ranks >> lane & 1) && !wait_signal(t, s, lane, epoch);
  return !__any_sync(~0u, lost);
}

/// All threads of one block of each rank: none returns before all have called. What any of them wrote before is then visible
/// to all. The rest of the grid does not take part (see grid_barrier).
__device__ inline bool team_barrier(const DeviceTeam& t, const TeamSignals& s, u32 epoch) {
  __syncthreads();
  bool lost = false;
  if (i32 peer = threadIdx.x; peer < t.ranks) {
    signal(t, s, peer, epoch);
    lost = !wait_signal(t, s, peer, epoch);
  }
  return !__syncthreads_or(lost);
}

/// All threads of all blocks of a grid that was launched `resident`: none returns before all have called, and what they wrote
/// before is visible to all. Costs a ticket and a poll.
__device__ inline bool grid_barrier(const DeviceTeam& t) {
  __syncthreads();
  bool lost = false;
  if (threadIdx.x == 0) {
    u32* generation = &t.control->generation;
    u32 now = load_relaxed(generation);
    if (is_last_block(&t.control->arrived, gridDim.x))
      store_relaxed(generation, now + 1);
    else
      lost = !spin(t, Wait::own_blocks, -1, 0, (now + 1) << 1, [&](u32& seen) {
        u32 g = load_relaxed(generation);
        seen = g << 1;
        return g != now;
      });
    fence_system();
  }
  return !__syncthreads_or(lost);
}

// --- puts ------------------------------------------------------------------------------------------------------------------

/// Who shares the work of a put.
enum class Scope { thread, warp, block, grid };

template <Scope scope>
struct Part {
  i64 first = 0, step = 1;
  __device__ Part() {
    if constexpr (scope == Scope::warp) first = threadIdx.x & 31, step = 32;
    if constexpr (scope == Scope::block) first = threadIdx.x, step = blockDim.x;
    if constexpr (scope == Scope::grid) first = i64(blockIdx.x) * blockDim.x + threadIdx.x, step = i64(gridDim.x) * blockDim.x;
  }
};

/// All threads of the scope: copies n doubles to memory of any rank. 16 bytes at once where both addresses are multiples of
/// 16. Nobody is told; see signal(). Read through L2, so what other blocks wrote before a barrier is seen. A thread has U loads
/// on their way at once.
template <Scope scope, int U = 4>
__device__ inline void put(double* to, const double* from, i64 n) {
  Part<scope> p;
  i64 pairs = (reinterpret_cast<u64>(to) | reinterpret_cast<u64>(from)) % 16 == 0 ? n / 2 : 0;
  auto* to2 = reinterpret_cast<double2*>(to);
  auto* from2 = reinterpret_cast<const double2*>(from);
  i64 i = p.first;
  for (; i + (U - 1) * p.step < pairs; i += U * p.step) {
    double2 v[U];
#pragma unroll
    for (int u = 0; u < U; u++) v[u] = __ldcg(from2 + i + u * p.step);
#pragma unroll
    for (int u = 0; u < U; u++) to2[i + u * p.step] = v[u];
  }
  for (; i < pairs; i += p.step) to2[i] = __ldcg(from2 + i);
  for (i = 2 * pairs + p.first; i < n; i += p.step) to[i] = __ldcg(from + i);
}

/// All threads of the scope: copies n doubles to rank `to`, where `there` lies, then raises my flag there. One put at a time
/// of a grid with each of `signals`.
template <Scope scope>
__device__ inline void put_and_signal(const DeviceTeam& t, double* there, const double* from, i64 n, const TeamSignals& s,
                                      i32 to, u32 epoch) {
  put<scope>(there, from, n);
  if constexpr (scope == Scope::thread) {
    signal(t, s, to, epoch);
  } else if constexpr (scope == Scope::warp) {
    __syncwarp();
    if ((threadIdx.x & 31) == 0) signal(t, s, to, epoch);
  } else {
    __syncthreads();
    if (threadIdx.x != 0) return;
    if constexpr (scope == Scope::block)
      signal(t, s, to, epoch);
    else if (is_last_block(t.mine(s.ticket) + to, gridDim.x))
      signal_fenced(t, s, to, epoch);
  }
}

}  // namespace sordino::cuda
