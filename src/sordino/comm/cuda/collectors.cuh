// Device code of collectors.cu: an iteration of a loop as two kernels, one that computes with sums and starts new ones, and
// one whose work needs no sums. The phases are those of the engine's commands (runtime/cuda/command.cuh); who adds up what the
// blocks of the first one hand in is a choice.
//
// Who waits for whom: a kernel's blocks begin when all blocks of the kernel before it have begun, and have seen the end of the
// one before that. So a block may wait for any block of the kernel before its own. The last block of a grid waits for blocks
// that began before it; where the kernel that collects needs the sums itself, its blocks wait for its first one. Ranks wait for
// each other's sums, and have a device each. Every wait ends with the team's patience.
//
// What is overwritten: a block hands in its next sums when it has the ones before, so these have been collected by then. Those
// that every block reads for itself have two places, in turn, as have the sums that ranks send each other.
#pragma once
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda::collectors {

constexpr int values = 4;          // that are summed, as by the reduction of overlap_programs.hpp
constexpr int most_blocks = 1024;  // of a grid
constexpr int warps = block_threads / 32;

/// Who adds up the sums of the blocks.
enum class Who {
  nobody,      // there are none
  last_block,  // that hands in: as the engine does
  readers,     // every block that needs them, those of all ranks
  aside,       // the first block of the kernel behind, which has no rows while there is other work to do
};

/// What a block has come to.
enum Event { begun, past_wait, has_sums, rows_end, handed_in, seen, sent, ended, events };

struct Loop {
  Symmetric<double> e = {}, w = {};  // rows of sums, rows of work
  i32 rows = 0, work = 0;
  i32 blocks = 0;                // that hand in
  TeamSlots sums = {};           // the last word of its epochs is that of the sums before the graph
  Symmetric<Packet> parts = {};  // [2][values][ranks][blocks] for readers, written by all ranks
  Symmetric<u64> stamps = {};    // [iteration][kernel][event][most_blocks] nanoseconds; 0: nothing came to that
};

/// When a block came to what, by the clock of its device; nothing where nothing is stamped.
template <bool stamped>
class Stamps {
 public:
  __device__ void operator()(Event e) {
    if constexpr (stamped) {
      asm volatile("" ::: "memory");  // what was asked for before has come, or is on its way
      if (threadIdx.x == 0) at_[e] = nanoseconds();
    }
  }
  /// Of kernel 0 or 1 of an iteration.
  __device__ void keep(u64* all, i32 iteration, int kernel) {
    (*this)(ended);
    if constexpr (stamped)
      if (threadIdx.x == 0)
#pragma unroll
        for (int e = 0; e < events; e++) all[i64((iteration * 2 + kernel) * events + e) * most_blocks + blockIdx.x] = at_[e];
  }

 private:
  u64 at_[stamped ? events : 1] = {};
};

using WarpSums = double[most_values][warps];

/// Of the engine's commands at_once blocks fit on a multiprocessor, for they take 40 registers a thread: while one command's
/// last blocks run, the next one's may find no place. Some of these kernels take fewer. So that they stand in each other's way
/// alike, each also takes shared memory that it does not need: an H200 has so much for at_once blocks.
constexpr int at_once = 6;
__device__ inline void take_place() {
  constexpr u32 bytes = 34 << 10;
  __shared__ volatile char place[bytes];
  if (threadIdx.x == 0) place[blockIdx.x % bytes] = 0;
}

__device__ inline u32 epoch_before(const DeviceTeam& t, const Loop& l) { return *t.mine(l.sums.epoch); }
__device__ inline Partials handed_to_one(const DeviceTeam& t, const Loop& l) {
  return {t.mine(l.sums.partials), l.sums.most_blocks, l.sums.channel};
}
/// On rank `on`: what the blocks of all ranks hand in, rank by rank.
__device__ inline Partials handed_to_all(const DeviceTeam& t, const Loop& l, i32 on, u32 epoch) {
  i32 stride = t.ranks * l.blocks;
  return {t.at(on, l.parts) + i32(epoch & 1) * values * stride, stride, l.sums.channel};
}

/// Thread k < values has its block's k-th sum.
__device__ inline void hand_in(const Partials& at, u32 epoch, double sum) {
  if (int t = threadIdx.x; t < values) store_packet(at.packets + t * at.stride + blockIdx.x, {sum, flag_word(epoch, false)});
}
/// All threads of a block: thread k < values gets the k-th sum of so many blocks. False: the wait was lost.
__device__ inline bool add_up(const DeviceTeam& t, const Partials& at, int blocks, u32 epoch, WarpSums& warp_sum, double& sum) {
  double sums[values];
  bool lost = !collect<values, block_threads>(t, at, blocks, sums, epoch);
  if (__syncthreads_or(lost)) return false;
  sum = block_sum<values>(sums, warp_sum);
  return true;
}

/// All threads of one block. A wait that is lost is found by all blocks.
template <class S>
__device__ inline void collect_and_send(const DeviceTeam& t, const Loop& l, u32 epoch, WarpSums& warp_sum, S& stamp) {
  double sum;
  if (!add_up(t, handed_to_one(t, l), l.blocks, epoch, warp_sum, sum)) return;
  stamp(seen);
  if (threadIdx.x < 32) push_values<values>(t, l.sums, epoch, sum);
  stamp(sent);
}

/// As a command begins: its first warp waits for the kernel before, and looks whether there is anything to do, while
/// prepare() asks for the sums. All threads. False: a wait was lost.
template <class S, class Prepare>
__device__ inline bool begin(const DeviceTeam& t, S& stamp, const Prepare& prepare) {
  __shared__ bool go;
  wait_for_previous_command();
  if (threadIdx.x < 32) {
    let_next_command_come();
    stamp(past_wait);
    u32 halt = load_relaxed(&t.control->halt);
    bool well = prepare();
    if (threadIdx.x == 0) go = well && !halt;
  }
  __syncthreads();
  return go;
}

/// The n-th kernel of its kind in a graph: e goes half way to the mean of all e, and one further, as overlap::Average does.
/// `finishes`: there are sums to do so with; otherwise e stays as it is, and the first ones are started.
template <Who who, bool stamped>
__global__ void __launch_bounds__(block_threads, at_once) average(const __grid_constant__ DeviceTeam t,
                                                                  const __grid_constant__ Loop l, i32 n, bool finishes) {
  __shared__ WarpSums warp_sum;
  __shared__ double found[values];
  Stamps<stamped> stamp;
  stamp(begun);
  take_place();
  const u32 epoch = epoch_before(t, l) + u32(n);
  if constexpr (who == Who::aside)
    if (finishes && l.work == 0 && blockIdx.x == 0) collect_and_send(t, l, epoch, warp_sum, stamp);
  bool goes_on = begin(t, stamp, [&] {
    double sum = 0;
    bool well = true;
    if constexpr (who == Who::last_block || who == Who::aside)
      well = !finishes || take_sums<values, true>(t, l.sums, epoch, sum);
    if (threadIdx.x < values) found[threadIdx.x] = sum;
    return well;
  });
  if (!goes_on) return;
  if constexpr (who == Who::readers) {
    double sum = 0;
    if (finishes && !add_up(t, handed_to_all(t, l, t.rank, epoch), t.ranks * l.blocks, epoch, warp_sum, sum)) return;
    if (threadIdx.x < values) found[threadIdx.x] = sum;
    __syncthreads();
  }
  stamp(has_sums);

  const double mean = (found[0] + found[1] + found[2] + found[3]) / (8.0 * l.rows * t.ranks);
  double sums[values] = {}, *e = t.mine(l.e);
  for (i32 i = blockIdx.x * block_threads + threadIdx.x; i < l.rows; i += gridDim.x * block_threads) {
    double old = e[i], v = finishes ? 0.5 * (old + (who == Who::nobody ? old : mean)) + 1 : old;
    e[i] = v;
    sums[0] += v;
    sums[1] += v;
    sums[2] += 2 * v;
    sums[3] += 4 * v;
  }
  stamp(rows_end);

  if constexpr (who != Who::nobody) {
    double sum = block_sum<values>(sums, warp_sum);
    if constexpr (who == Who::readers) {
      for (i32 r = 0; r < t.ranks; r++) {
        Partials at = handed_to_all(t, l, r, epoch + 1);
        at.packets += t.rank * l.blocks;
        hand_in(at, epoch + 1, sum);
      }
    } else {
      hand_in(handed_to_one(t, l), epoch + 1, sum);
    }
    stamp(handed_in);
    if (who == Who::last_block && blockIdx.x == gridDim.x - 1) collect_and_send(t, l, epoch + 1, warp_sum, stamp);
  }
  stamp.keep(t.mine(l.stamps), n, 0);
}

/// Work that needs no sums: v + 1.
template <Who who, bool stamped>
__global__ void __launch_bounds__(block_threads, at_once) work(const __grid_constant__ DeviceTeam t,
                                                               const __grid_constant__ Loop l,
                                                               const __grid_constant__ Symmetric<double> rows, i32 count,
                                                               i32 n) {
  constexpr i32 asides = who == Who::aside ? 1 : 0;
  Stamps<stamped> stamp;
  stamp(begun);
  take_place();
  if constexpr (who == Who::aside) {
    __shared__ WarpSums warp_sum;
    if (blockIdx.x == 0) collect_and_send(t, l, epoch_before(t, l) + u32(n), warp_sum, stamp);
  }
  if (!begin(t, stamp, [] { return true; })) return;
  double* v = t.mine(rows);
  const i32 place = i32(blockIdx.x) - asides, among = i32(gridDim.x) - asides;
  if (place >= 0)
    for (i32 i = place * block_threads + threadIdx.x; i < count; i += among * block_threads) v[i] += 1;
  stamp(rows_end);
  stamp.keep(t.mine(l.stamps), n, 1);
}

/// One thread, behind all of a graph: so many sums were started in it.
__global__ void count_on(const __grid_constant__ DeviceTeam t, const __grid_constant__ Loop l, i32 iterations) {
  *t.mine(l.sums.epoch) += u32(iterations);
}

}  // namespace sordino::cuda::collectors
