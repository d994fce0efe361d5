// Device code: numbers that say themselves whether they have been written. A word of a place that waits for its number has all
// bits set; that is a NaN which no arithmetic makes, for NaNs that are computed are stored as another one. So a number needs no
// flag and no fence: whoever reads it polls it.
#pragma once
#include "sordino/runtime/cuda/memory.cuh"
#include "sordino/trsv/cuda/told.cuh"

namespace sordino::trsv {

__device__ __forceinline__ float poll(const float* p) {
  return __uint_as_float(cuda::load_relaxed(reinterpret_cast<const u32*>(p)));
}
__device__ __forceinline__ double poll(const double* p) {
  return __longlong_as_double(static_cast<long long>(cuda::load_relaxed(reinterpret_cast<const u64*>(p))));
}
__device__ __forceinline__ Number poll(const Number* p) { return {poll(&p->re), poll(&p->im)}; }

__device__ __forceinline__ bool is_there(float a) { return __float_as_uint(a) != ~0u; }
__device__ __forceinline__ bool is_there(double a) { return __double_as_longlong(a) != -1; }
__device__ __forceinline__ bool is_there(Number a) { return is_there(a.re) && is_there(a.im); }

__device__ __forceinline__ void tell(float* p, float a) { cuda::store_relaxed(reinterpret_cast<u32*>(p), __float_as_uint(a)); }
__device__ __forceinline__ void tell(double* p, double a) {
  asm volatile("st.relaxed.sys.global.f64 [%0], %1;" ::"l"(p), "d"(a) : "memory");
}
__device__ __forceinline__ void tell(Number* p, Number a) { tell(&p->re, a.re), tell(&p->im, a.im); }

/// All threads of all blocks: the first `count` numbers wait again.
template <class V>
__device__ void forget(V* numbers, i64 count) {
  constexpr i64 words = sizeof(V) / sizeof(u32);
  u32* const at = reinterpret_cast<u32*>(numbers);
  const i64 step = i64(gridDim.x) * blockDim.x;
  for (i64 k = i64(blockIdx.x) * blockDim.x + threadIdx.x; k < count * words; k += step) at[k] = ~0u;
}

}  // namespace sordino::trsv
