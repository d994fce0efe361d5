// Device code: memory that comes to a thread block while it does something else. Before Hopper there is no engine for that:
// there the block copies when it needs it.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino::trsv {

/// In shared memory. One copy at a time; `uses` of all threads counts those that were waited for.
class CopyAhead {
 public:
  /// One thread, before all threads meet.
  __device__ void begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address()) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  /// One thread: two pieces, one behind the other. Addresses and sizes are multiples of 16.
  __device__ void start(char* to, const void* first, i32 first_bytes, const void* second, i32 second_bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(first_bytes + second_bytes)
                 : "memory");
    copy(to, first, first_bytes);
    if (second_bytes > 0) copy(to + first_bytes, second, second_bytes);
#else
    to_ = to, first_ = first, second_ = second, first_bytes_ = first_bytes, second_bytes_ = second_bytes;
#endif
  }
  /// All threads.
  __device__ void wait(u32& uses) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const u32 parity = uses++ & 1;
    u32 done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(address()), "r"(parity)
                   : "memory");
#else
    uses++;
    __syncthreads();
    for (i32 at = 16 * i32(threadIdx.x); at < first_bytes_ + second_bytes_; at += 16 * i32(blockDim.x)) {
      const char* const from =
          at < first_bytes_ ? static_cast<const char*>(first_) + at : static_cast<const char*>(second_) + (at - first_bytes_);
      *reinterpret_cast<int4*>(to_ + at) = *reinterpret_cast<const int4*>(from);
    }
    __syncthreads();
#endif
  }

 private:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __device__ u32 address() const { return u32(__cvta_generic_to_shared(&barrier_)); }
  /// What comes is used once: it is the first to leave the L2 cache again.
  __device__ void copy(char* to, const void* from, i32 bytes) {
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
            u32(__cvta_generic_to_shared(to))),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(address()), "l"(policy)
        : "memory");
  }
#else
  char* to_;
  const void *first_, *second_;
  i32 first_bytes_, second_bytes_;
#endif
  u64 barrier_;
};

}  // namespace sordino::trsv
