// Device code: how a triangular solve loads and exchanges its numbers.
#pragma once
#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// Two rows of a column.
template <class V>
struct alignas(sizeof(V) < 16 ? 2 * sizeof(V) : 16) Pair {
  V a, b;
};

/// From memory, to be used once.
__device__ __forceinline__ Pair<float> load_values(const float* p) {
  const float2 v = __ldcs(reinterpret_cast<const float2*>(p));
  return {v.x, v.y};
}
__device__ __forceinline__ Pair<double> load_values(const double* p) {
  const double2 v = __ldcs(reinterpret_cast<const double2*>(p));
  return {v.x, v.y};
}
__device__ __forceinline__ Pair<Number> load_values(const Number* p) {
  const double2 v = __ldcs(reinterpret_cast<const double2*>(p)), w = __ldcs(reinterpret_cast<const double2*>(p + 1));
  return {{v.x, v.y}, {w.x, w.y}};
}

/// What other blocks, or devices, have written: not from a cache of this multiprocessor.
__device__ __forceinline__ float load_shared_by_all(const float* p) { return __ldcg(p); }
__device__ __forceinline__ double load_shared_by_all(const double* p) { return __ldcg(p); }
__device__ __forceinline__ Number load_shared_by_all(const Number* p) {
  const double2 v = __ldcg(reinterpret_cast<const double2*>(p));
  return {v.x, v.y};
}

/// A row's K numbers, by loads of 16 bytes where they have so many; K is a power of two, and rows begin at multiples of them.
template <class V, int K>
__device__ __forceinline__ void load_row(const V* from, V (&to)[K]) {
  if constexpr (sizeof(V) * K >= 16 && sizeof(V) < 16) {
    constexpr int at_once = 16 / sizeof(V);
#pragma unroll
    for (int r = 0; r < K; r += at_once) {
      const int4 words = __ldcg(reinterpret_cast<const int4*>(from + r));
      memcpy(&to[r], &words, sizeof words);
    }
  } else {
#pragma unroll
    for (int r = 0; r < K; r++) to[r] = load_shared_by_all(from + r);
  }
}
template <class V, int K>
__device__ __forceinline__ void store_row(V* to, const V (&row)[K]) {
  if constexpr (sizeof(V) * K >= 16 && sizeof(V) < 16) {
    constexpr int at_once = 16 / sizeof(V);
#pragma unroll
    for (int r = 0; r < K; r += at_once) {
      int4 words;
      memcpy(&words, &row[r], sizeof words);
      *reinterpret_cast<int4*>(to + r) = words;
    }
  } else {
#pragma unroll
    for (int r = 0; r < K; r++) to[r] = row[r];
  }
}

template <class V>
__device__ __forceinline__ V shuffle_xor(V a, int lane) {
  return __shfl_xor_sync(~0u, a, lane);
}
__device__ __forceinline__ Number shuffle_xor(Number a, int lane) {
  return {__shfl_xor_sync(~0u, a.re, lane), __shfl_xor_sync(~0u, a.im, lane)};
}
template <class V>
__device__ __forceinline__ V shuffle_down(V a, int by) {
  return __shfl_down_sync(~0u, a, by);
}
__device__ __forceinline__ Number shuffle_down(Number a, int by) {
  return {__shfl_down_sync(~0u, a.re, by), __shfl_down_sync(~0u, a.im, by)};
}

}  // namespace sordino::trsv
