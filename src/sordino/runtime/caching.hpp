// What a GPU's second cache is told of a load or a store: that its line is the first to go, because what comes meanwhile is of
// more use (ADR 45). Marks of the first cache alone (ld.cs, st.cs) do not say that; L2::evict_first does. Nothing else changes,
// and nothing on a CPU.
#pragma once
#include "sordino/base/complex.hpp"
#include "sordino/base/types.hpp"

namespace sordino {

#ifdef __CUDACC__
/// The policy by which the second cache lets go of a line before others.
__device__ __forceinline__ u64 first_to_go() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
#endif

/// A load of what nobody reads again soon, and no command writes: entries of a matrix, columns.
SORDINO_HD inline double read_once(const double* p) {
#ifdef __CUDA_ARCH__
  double v;
  asm("ld.global.L1::no_allocate.L2::cache_hint.f64 %0, [%1], %2;" : "=d"(v) : "l"(p), "l"(first_to_go()));
  return v;
#else
  return *p;
#endif
}
SORDINO_HD inline i32 read_once(const i32* p) {
#ifdef __CUDA_ARCH__
  i32 v;
  asm("ld.global.L1::no_allocate.L2::cache_hint.s32 %0, [%1], %2;" : "=r"(v) : "l"(p), "l"(first_to_go()));
  return v;
#else
  return *p;
#endif
}
SORDINO_HD inline std::uint8_t read_once(const std::uint8_t* p) {
#ifdef __CUDA_ARCH__
  u32 v;
  asm("ld.global.L1::no_allocate.L2::cache_hint.u8 %0, [%1], %2;" : "=r"(v) : "l"(p), "l"(first_to_go()));
  return std::uint8_t(v);
#else
  return *p;
#endif
}
/// Of a complex number 16 bytes at once.
SORDINO_HD inline Complex<double> read_once(const Complex<double>* p) {
#ifdef __CUDA_ARCH__
  Complex<double> v;
  asm("ld.global.L1::no_allocate.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
      : "=d"(v.re), "=d"(v.im)
      : "l"(p), "l"(first_to_go()));
  return v;
#else
  return *p;
#endif
}

/// A store of what is read again only when all other rows are done: a product's result.
SORDINO_HD inline void write_once(double& place, double value) {
#ifdef __CUDA_ARCH__
  asm volatile("st.global.L2::cache_hint.f64 [%0], %1, %2;" ::"l"(&place), "d"(value), "l"(first_to_go()) : "memory");
#else
  place = value;
#endif
}

/// What an iteration does with a vector for the last time. Where vectors are small enough that some of them stay in the second
/// cache from one command to the next, those that are done with are to make room for the others: a functor with such a field
/// asks it for its last loads and stores. Where none can stay, marks would only cost (docs/adr/0045).
struct LastUse {
  bool makes_room = false;

  /// A rank's own rows of a vector, of 8 B.
  static LastUse of(i64 rows) { return {8 * rows <= 25'000'000}; }

  SORDINO_HD double load(const double& place) const {
#ifdef __CUDA_ARCH__
    double v;
    asm volatile("ld.global.L2::cache_hint.f64 %0, [%1], %2;" : "=d"(v) : "l"(&place), "l"(policy()));
    return v;
#else
    return place;
#endif
  }
  SORDINO_HD void store(double& place, double value) const {
#ifdef __CUDA_ARCH__
    asm volatile("st.global.L2::cache_hint.f64 [%0], %1, %2;" ::"l"(&place), "d"(value), "l"(policy()) : "memory");
#else
    place = value;
#endif
  }

#ifdef __CUDACC__
  __device__ __forceinline__ u64 policy() const {
    u64 usual;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(usual));
    return makes_room ? first_to_go() : usual;
  }
#endif
};

}  // namespace sordino
