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

/// Whoever stores a number of x says so in a pass's word if it is NaN or infinite. The host so sees it when the pass has ended,
/// and nobody looks through x.
template <class V>
__device__ __forceinline__ void look_at(const V& x, u32* not_finite) {
  if constexpr (sizeof(V) == sizeof(Number)) {
    look_at(x.re, not_finite);
    look_at(x.im, not_finite);
  } else {
    if (!isfinite(x)) cuda::store_relaxed(not_finite, 1);
  }
}

}  // namespace sordino::trsv
