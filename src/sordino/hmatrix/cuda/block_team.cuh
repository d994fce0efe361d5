// Device code: the threads of a block, and those of a warp, as teams (team.hpp). All of them come to each step.
#pragma once
#include "sordino/hmatrix/team.hpp"

namespace sordino::hmatrix {

__device__ inline double from_lane(double value, int mask) { return __shfl_xor_sync(~0u, value, mask); }
__device__ inline Number from_lane(Number value, int mask) { return {from_lane(value.re, mask), from_lane(value.im, mask)}; }

/// The sum of all lanes' values, which each of them gets: by halves.
template <class V>
__device__ V sum_of_lanes(V sum) {
#pragma unroll
  for (int mask = 16; mask; mask >>= 1) sum = sum + from_lane(sum, mask);
  return sum;
}

/// The largest of some numbers, and the first that has it.
struct Best {
  double value = nothing;
  i32 index = -1;

  __device__ void take(double v, i32 i) {
    if (v > value || (v == value && i < index)) value = v, index = i;  // comparisons with NaN fail
  }
  __device__ void gather() {
#pragma unroll
    for (int mask = 16; mask; mask >>= 1) {
      const double v = from_lane(value, mask);
      const i32 i = __shfl_xor_sync(~0u, index, mask);
      if (i >= 0) take(v, i);
    }
  }
};

struct WarpTeam {
  const int lane = threadIdx.x % 32;

  template <class F>
  __device__ void each(i32 n, const F& f) const {
#pragma unroll 1
    for (i32 k = lane; k < n; k += 32) f(k);
    __syncwarp();
  }
  template <class F>
  __device__ auto total(i32 n, const F& f) const {
    decltype(f(0)) sum{};
    for (i32 k = lane; k < n; k += 32) sum = sum + f(k);
    sum = sum_of_lanes(sum);
    __syncwarp();
    return sum;
  }
};

/// What the warps of a block tell each other: shared memory. A value is a number, or a pair, which wants a place for pairs.
template <int threads>
struct Slots {
  alignas(Number) double value[threads / 32][2];
  i32 index[threads / 32];
};

template <int threads>
class BlockTeam {
 public:
  __device__ explicit BlockTeam(Slots<threads>& slots) : slots_(slots) {}

  template <class F>
  __device__ void each(i32 n, const F& f) const {
#pragma unroll 1
    for (i32 k = threadIdx.x; k < n; k += threads) f(k);
    __syncthreads();
  }
  template <class F>
  __device__ auto total(i32 n, const F& f) const {
    using V = decltype(f(0));
    V sum{};
#pragma unroll 1
    for (i32 k = threadIdx.x; k < n; k += threads) sum = sum + f(k);
    sum = sum_of_lanes(sum);
    auto of_warp = [this](int w) { return reinterpret_cast<V*>(slots_.value[w]); };
    if (lane_ == 0) *of_warp(warp_) = sum;
    __syncthreads();
    sum = V{};
#pragma unroll
    for (int w = 0; w < warps; w++) sum = sum + *of_warp(w);
    __syncthreads();  // before the slots are used again
    return sum;
  }
  template <class F>
  __device__ i32 best(i32 n, const F& f) const {
    Best mine;
#pragma unroll 1
    for (i32 k = threadIdx.x; k < n; k += threads) mine.take(f(k), k);
    mine.gather();
    if (lane_ == 0) slots_.value[warp_][0] = mine.value, slots_.index[warp_] = mine.index;
    __syncthreads();
    Best all;
#pragma unroll
    for (int w = 0; w < warps; w++)
      if (slots_.index[w] >= 0) all.take(slots_.value[w][0], slots_.index[w]);
    __syncthreads();
    return all.index;
  }
  /// By warps.
  template <class F>
  __device__ void share(i32 n, const F& f) const {
#pragma unroll 1
    for (i32 k = warp_; k < n; k += warps) f(k, WarpTeam{});
    __syncthreads();
  }

 private:
  static constexpr int warps = threads / 32;
  const int lane_ = threadIdx.x % 32, warp_ = threadIdx.x / 32;
  Slots<threads>& slots_;
};

}  // namespace sordino::hmatrix
