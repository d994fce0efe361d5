// A kernel that stays on the device for a chunk of iterations, and runs their commands one after the other: what is a launch
// elsewhere is a step here, with the same phases (command.cuh). Where a command's launch would wait for the end of the one
// before, all blocks meet. A reduction that the next step finishes is such a meeting already: no block has its sum before all
// have handed in theirs.
//
// An iteration costs no launches, but what the commands write goes through the caches, as ever: between two steps each block
// passes a fence, behind which it no longer sees what its multiprocessor had kept of the others' rows.
#pragma once
#include <algorithm>
#include <cstddef>

#include "sordino/runtime/cuda/command.cuh"

namespace sordino::cuda {

template <class F, class T>
struct alignas(16) Step : StepHead {
  F functor;
  T test;
  Step(const StepHead& head, const F& f, const T& t) : StepHead(head), functor(f), test(t) {}
};

template <class K>
struct StepOf;
template <class F, class T>
struct StepOf<Kernel<F, T>> {
  using type = Step<F, T>;
  static constexpr int words = words_of<F>;
};

/// On a multiprocessor. Few: they leave each thread the registers that all commands in one kernel take, and meet soon.
constexpr int blocks_that_stay = 2;
constexpr int most_near_epochs = 64;

template <class... K>
inline constexpr std::size_t step_bytes = std::max({sizeof(typename StepOf<K>::type)...});

/// All blocks: what any of them wrote before is visible to all behind it. `before`: arrivals until the last meeting. False: a
/// block did not come, or a wait was lost.
__device__ inline bool meet(const Args& a, Meeting& m, u32& before) {
  __syncthreads();
  before += gridDim.x;
  bool lost = false;
  if (threadIdx.x == 0 && gridDim.x > 1) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(&m.arrived) : "memory");
    lost = !spin(a, Wait::own_blocks, -1, 0, before, [&](u32& seen) {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(&m.arrived) : "memory");
      return i32(seen - before) >= 0;
    });
  }
  return !__syncthreads_or(lost);
}

/// Adds the k-th sums of all blocks, in the order of collect() and block_sum(): the first warp of each. False: the wait was
/// lost.
__device__ inline bool add_blocks(const StepHead& step, const FinishArgs& f, int k, u32& words, double& sum) {
  constexpr int J = (most_blocks_by_themselves + 31) / 32;
  const u32 epoch = epoch_of(step.args, f.epoch);
  const i32 blocks = i32(gridDim.x);
  const Packet* packets = f.packets + k * step.stride + i32(epoch & 1) * blocks;
  double v[J];
  u32 tags = 0;
  bool there = spin(step.args, Wait::own_blocks, -1, 0, flag_word(epoch, false), [&](u32&) {
    bool all = true;
    tags = 0;
#pragma unroll
    for (int j = 0; j < J; j++) {
      i32 b = j * 32 + i32(threadIdx.x);
      v[j] = 0;
      if (b >= blocks) continue;
      Packet p = load_packet(packets + b);
      all &= is_epoch(u32(p.tag), epoch);
      tags |= u32(p.tag);
      v[j] = p.value;
    }
    return all;
  });
  words |= tags;
  sum = 0;
#pragma unroll
  for (int j = 0; j < J; j++) {
#pragma unroll
    for (int o = 16; o; o >>= 1) v[j] += __shfl_down_sync(~0u, v[j], o);
    sum += v[j];
  }
  return !__any_sync(~0u, !there);
}

/// The first warp ends the reductions of a step. Behind it, what all blocks wrote before they started them is visible. False:
/// the wait was lost.
__device__ inline bool finish_step(const StepHead& step, Shared& s) {
  const Args& a = step.args;
  if (!step.blocks_finish) {
    if (!finish_reductions(a, s, part_ref(a, threadIdx.x), false)) return false;
    fence_device();
    return true;
  }
  u32 words = 0;
  u64 since = nanoseconds();
#pragma unroll 1
  for (int j = 0; j < a.n_finishes; j++)
#pragma unroll 1
    for (int k = 0; k < a.finish[j].values; k++) {
      double sum;
      if (!add_blocks(step, a.finish[j], k, words, sum)) return false;
      if (threadIdx.x != 0) continue;
      s.finished[j * most_values + k] = sum;
      if (blockIdx.x == 0) a.scalars[a.finish[j].to[k]] = sum;  // where later commands look
    }
  fence_device();
  s.stop = __any_sync(~0u, words & 1);
  __syncwarp();
  if (blockIdx.x == 0) book_finish(a, s, u32(nanoseconds() - since));
  return true;
}

/// As start_reduction(); but what a block wrote before is visible on this device to who has seen the reduction's end.
template <int K>
__device__ inline void start_step(const StepHead& step, Shared& s, double (&sums)[K]) {
  const Args& a = step.args;
  const u32 epoch = epoch_of(a, a.start.epoch), word = flag_word(epoch, a.start.tells_stop && a.control->stop);
  const bool mute = iteration_of(a) == a.mute_at;
  __syncthreads();  // what the block wrote is known to its first warp, which hands in
  if (threadIdx.x < 32) fence_device();
  double sum;
  if (step.blocks_start) {
    sum = block_sum<K>(sums, s.warp_sum);
    i32 place = i32(threadIdx.x) * step.stride + i32(epoch & 1) * i32(gridDim.x) + i32(blockIdx.x);
    if (threadIdx.x < K && !mute) store_packet(a.start.partials + place, {sum, word});
    if (threadIdx.x == 0) note_started(a);
    return;
  }
  if (!grid_sum<K>(a, {a.start.partials, a.start.stride, a.start.slot}, epoch, sums, s.warp_sum, sum)) return;
  fence_device();  // by all threads that have looked at packets
  __syncthreads();
  if (threadIdx.x < 32) fence_device();
  if (threadIdx.x >= 32 || mute) return;
  send_sums(a, K, sum, epoch, word, first_packet(a.start, K, epoch));
}

/// As begin_command(). That the previous command has ended is known only behind the end of its reduction, or the meeting:
/// nothing that it wrote is read before.
template <class F, class T>
__device__ inline bool begin_step(F f, T test, const StepHead& step, Shared& s, u64* computed) {
  const Args& a = step.args;
  i32 iteration = iteration_of(a);
  if (iteration >= a.control->max_iterations || (a.n_finishes > 0 && !finish_step(step, s))) return false;
  u64 state = load_relaxed(reinterpret_cast<const u64*>(a.control));
  each_field(f, LoadKept{a});
  if constexpr (!std::is_same_v<T, NoTest>) each_field(test, LoadKept{a});
  if (is_from(place_of(a), u32(state))) return false;
  return go_ahead(f, test, a, s, iteration, u32(state >> 32), computed);
}

/// One command. `fetch_next` brings the next step while the block waits for others. False: nothing of the loop is left to do,
/// or a wait was lost.
template <class F, class T, class Fetch>
__device__ inline bool run_step(const StepHead& head, Shared& s, u64* computed, const Fetch& fetch_next) {
  const auto& step = static_cast<const Step<F, T>&>(head);
  if (threadIdx.x < 32) {
    bool go = begin_step(step.functor, step.test, head, s, computed);
    if (threadIdx.x == 0) s.go = go;
    if (go && is_keeper()) note_begin(head.args);
  }
  __syncthreads();
  if (!s.go) return false;
  F f = step.functor;
  each_field(f, HearComputed{computed});
  constexpr int K = sums_of<F>;
  double sums[K > 0 ? K : 1] = {};
  if (!run_groups<SumOrder::grid>(f, head.args, sums)) return false;
  fetch_next();
  if constexpr (K > 0)
    if (head.args.start.slot >= 0) start_step<K>(head, s, sums);
  note_end(head.args);
  return true;
}

template <class F, class T, class Fetch>
__device__ inline bool run_step_as(Kernel<F, T>, const StepHead& head, Shared& s, u64* computed, const Fetch& fetch_next) {
  return run_step<F, T>(head, s, computed, fetch_next);
}

template <class... K>
__global__ void __launch_bounds__(block_threads, blocks_that_stay) resident(const __grid_constant__ ResidentArgs r) {
  constexpr int words = int(step_bytes<K...> / sizeof(uint4));
  static_assert(words <= block_threads && step_bytes<K...> % sizeof(uint4) == 0);
  __shared__ uint4 steps[2][words];
  __shared__ Shared s;
  __shared__ u64 computed[std::max({StepOf<K>::words...})];
  const int t = threadIdx.x;
  __shared__ u64 epochs[most_near_epochs / 2];  // constant while a chunk runs, and looked at in every step
  if (t < r.n_epochs && t < most_near_epochs) reinterpret_cast<u32*>(epochs)[t] = r.upload->epochs[t];
  // Word t of step n. One of them says where the epochs are.
  auto word = [&](i32 n) {
    static_assert(offsetof(Args, epochs) == sizeof(uint4));
    uint4 w = __ldcg(static_cast<const uint4*>(r.steps) + i64(n) * words + t);
    u64 near = reinterpret_cast<u64>(epochs);
    if (t == 1 && r.n_epochs <= most_near_epochs) memcpy(&w, &near, sizeof near);
    return w;
  };
  if (t < words) steps[0][t] = word(0);
  u32 before = r.upload->meeting.before;
  __syncthreads();
#pragma unroll 1
  for (i32 n = 0; n < r.count; n++) {
    const StepHead& head = *reinterpret_cast<const StepHead*>(steps[n & 1]);
    const bool fetches = t < words && n + 1 < r.count;
    uint4 next{};
    if (fetches) next = word(n + 1);
    auto fetch_next = [&] {
      if (fetches) steps[(n + 1) & 1][t] = next;
    };
    bool well = false;
    i32 kind = 0;
    ((head.kind == kind++ ? void(well = run_step_as(K{}, head, s, computed, fetch_next)) : void()), ...);
    if (!well) return;
    if (head.meets && !meet(head.args, r.upload->meeting, before)) return;
  }
}

}  // namespace sordino::cuda
