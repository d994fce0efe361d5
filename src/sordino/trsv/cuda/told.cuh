// Device code: a place that waits for its number has all bits set, which is a NaN. So every other NaN is stored as one that no
// place looks empty with.
#pragma once
#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// What is stored of a number that was computed, or is a caller's.
__device__ __forceinline__ float told(float a) { return a == a ? a : __uint_as_float(0x7fc00000u); }
__device__ __forceinline__ double told(double a) { return a == a ? a : __longlong_as_double(0x7ff8000000000000ll); }
__device__ __forceinline__ Number told(Number a) { return {told(a.re), told(a.im)}; }

}  // namespace sordino::trsv
