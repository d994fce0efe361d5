// Device code: memory that comes to a thread block while it does something else. Before Hopper there is no engine for that:
// there the block copies when it needs it.
#pragma once
#include "sordino/trsv/cuda/meetings.cuh"

namespace sordino::trsv {

/// Two pieces, one behind the other. Addresses and sizes are multiples of 16.
struct Pieces {
  char* to;
  const void *first, *second;
  i32 first_bytes, second_bytes;
};

/// In shared memory. One copy at a time; `uses` of each worker counts those that were waited for.
class CopyAhead {
 public:
  /// One thread, before all threads meet.
  __device__ void begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address()) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  /// One thread.
  __device__ void start([[maybe_unused]] const Pieces& p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(p.first_bytes + p.second_bytes)
                 : "memory");
    copy(p.to, p.first, p.first_bytes);
    if (p.second_bytes > 0) copy(p.to + p.first_bytes, p.second, p.second_bytes);
#endif
  }
  /// All workers.
  __device__ void wait([[maybe_unused]] const Pieces& p, [[maybe_unused]] u32& uses) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const u32 parity = uses++ & 1;
    u32 done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(address()), "r"(parity)
                   : "memory");
#else
    meet_workers();  // nobody needs what was there
    for (i32 at = 16 * i32(threadIdx.x); at < p.first_bytes + p.second_bytes; at += 16 * worker_threads) {
      const char* const from = at < p.first_bytes ? static_cast<const char*>(p.first) + at
                                                  : static_cast<const char*>(p.second) + (at - p.first_bytes);
      *reinterpret_cast<int4*>(p.to + at) = *reinterpret_cast<const int4*>(from);
    }
    meet_workers();
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
#endif
  u64 barrier_;
};

}  // namespace sordino::trsv
