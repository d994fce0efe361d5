// Device code: memory that comes to a thread block while it does something else. Before Hopper there is no engine for that:
// there the block copies when it needs it.
#pragma once
#include "sordino/trsv/cuda/meetings.cuh"

namespace sordino::trsv {

/// Pieces of `bytes`, `step` bytes apart, of which the last one has `last_bytes` and begins
/// `last_ahead` bytes sooner; then another one. They come to lie one behind
/// the other, and that one at a place of its own. Addresses and sizes are multiples of 16.
struct Pieces {
  char* to;
  const char* from;
  i32 count, bytes, step, last_bytes, last_ahead;
  const void* beside;
  i32 bytes_beside;
  char* to_beside;

  __device__ const char* place_of(i32 k) const { return from + i64(k) * step - (k + 1 < count ? 0 : last_ahead); }
  __device__ i32 bytes_of(i32 k) const { return k + 1 < count ? bytes : last_bytes; }
  __device__ i32 bytes_of_all() const { return (count - 1) * bytes + last_bytes; }
};

/// One thread: what it has written to shared memory is there before a copy that is started behind a barrier overwrites it.
__device__ __forceinline__ void let_copies_follow() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

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
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()),
                 "r"(p.bytes_of_all() + p.bytes_beside)
                 : "memory");
    for (i32 k = 0; k < p.count; k++) copy(p.to + k * p.bytes, p.place_of(k), p.bytes_of(k));
    if (p.bytes_beside > 0) copy(p.to_beside, p.beside, p.bytes_beside);
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
    for (i32 k = 0; k < p.count; k++) copy(p.to + k * p.bytes, p.place_of(k), p.bytes_of(k));
    copy(p.to_beside, p.beside, p.bytes_beside);
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
#else
  __device__ static void copy(char* to, const void* from, i32 bytes) {
    for (i32 at = 16 * i32(threadIdx.x); at < bytes; at += 16 * worker_threads)
      *reinterpret_cast<int4*>(to + at) = *reinterpret_cast<const int4*>(static_cast<const char*>(from) + at);
  }
#endif
  u64 barrier_;
};

}  // namespace sordino::trsv
