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

/// One command. `fetch_next` brings the next step while the block waits for others. False: nothing of the loop is left to do,
/// or a wait was lost.
template <class F, class T, class Fetch>
__device__ inline bool run_step(const StepHead& head, Shared& s, u64* computed, const Fetch& fetch_next) {
  const auto& step = static_cast<const Step<F, T>&>(head);
  const Args& a = step.args;
  if (threadIdx.x < 32) {
    bool go = begin_command<SumOrder::grid, true>(step.functor, step.test, a, s, computed);
    if (threadIdx.x == 0) s.go = go;
  }
  __syncthreads();
  if (!s.go) return false;
  F f = step.functor;
  each_field(f, HearComputed{computed});
  constexpr int K = sums_of<F>;
  double sums[K > 0 ? K : 1] = {};
  if (!run_groups<SumOrder::grid>(f, a, sums)) return false;
  fetch_next();
  if constexpr (K > 0)
    if (a.start.slot >= 0) start_reduction<K, true>(a, s, sums);
  return true;
}

template <class F, class T, class... Rest>
__device__ inline bool run_step_as(Kernel<F, T>, const StepHead& head, Shared& s, u64* computed, const Rest&... fetch_next) {
  return run_step<F, T>(head, s, computed, fetch_next...);
}

template <class... K>
__global__ void __launch_bounds__(block_threads, blocks_that_stay) resident(const __grid_constant__ ResidentArgs r) {
  constexpr int words = int(step_bytes<K...> / sizeof(uint4));
  static_assert(words <= block_threads && step_bytes<K...> % sizeof(uint4) == 0);
  __shared__ uint4 steps[2][words];
  __shared__ Shared s;
  __shared__ u64 computed[std::max({StepOf<K>::words...})];
  const int t = threadIdx.x;
  __shared__ u64 fixed[sizeof(Control) / sizeof(u64)];  // what is constant while a chunk runs is near
  __shared__ u32 epochs[most_near_epochs];
  if (t < int(sizeof(Control) / sizeof(u64))) fixed[t] = reinterpret_cast<const u64*>(&r.upload->control)[t];
  if (t < r.n_epochs && t < most_near_epochs) epochs[t] = r.upload->epochs[t];
  // Word t of step n. One of them says where these constants are.
  auto word = [&](i32 n) {
    static_assert(offsetof(Args, epochs) == sizeof(uint4) && offsetof(Args, fixed) == offsetof(Args, epochs) + sizeof(u64));
    uint4 w = __ldcg(static_cast<const uint4*>(r.steps) + i64(n) * words + t);
    u64 near[2] = {reinterpret_cast<u64>(epochs), reinterpret_cast<u64>(fixed)};
    if (t == 1 && r.n_epochs <= most_near_epochs) memcpy(&w, near, sizeof w);
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
