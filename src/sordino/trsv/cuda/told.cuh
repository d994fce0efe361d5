// Device code: a place that waits for its number has all bits set, which is a NaN. So every other NaN is stored as one that no
// place looks empty with.
#pragma once
#include "sordino/runtime/cuda/memory.cuh"
#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// What is stored of a number that was computed, or is a caller's.
__device__ __forceinline__ float told(float a) { return a == a ? a : __uint_as_float(0x7fc00000u); }
__device__ __forceinline__ double told(double a) { return a == a ? a : __longlong_as_double(0x7ff8000000000000ll); }
__device__ __forceinline__ Number told(Number a) { return {told(a.re), told(a.im)}; }

__device__ __forceinline__ bool is_number(float a) { return isfinite(a); }
__device__ __forceinline__ bool is_number(double a) { return isfinite(a); }
__device__ __forceinline__ bool is_number(Number a) { return isfinite(a.re) && isfinite(a.im); }

/// Whoever stores a number of x says in a word of the host's which pass that was, if it is NaN or infinite: so nobody has to
/// look through x.
template <class V, class Pass>
__device__ __forceinline__ void look_at(const V& x, const Pass& pass) {
  if (!is_number(x)) cuda::store_relaxed(pass.not_finite, pass.epoch);
}

}  // namespace sordino::trsv
