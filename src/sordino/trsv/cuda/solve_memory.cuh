// Device code: how a triangular solve loads its values, and what it lets come ahead of time.
#pragma once
#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// Two rows of a column, which are loaded at once, and used once.
template <class V>
struct alignas(sizeof(V) < 16 ? 2 * sizeof(V) : 16) Pair {
  V a, b;
};

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

template <class V>
__device__ __forceinline__ V shuffle_xor(V a, int lane) {
  return __shfl_xor_sync(~0u, a, lane);
}
__device__ __forceinline__ Number shuffle_xor(Number a, int lane) {
  return {__shfl_xor_sync(~0u, a.re, lane), __shfl_xor_sync(~0u, a.im, lane)};
}

/// One thread: asks that `bytes`, a multiple of 16 from a multiple of 16 on, come into the L2 cache.
__device__ __forceinline__ void let_come(const void* p, u32 bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (bytes > 0)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(bytes) : "memory");
#endif
}

}  // namespace sordino::trsv
