// Device code: memory that comes to a thread block in a wide pass while it does something else. Slices of strips come one after
// the other to the places of a ring, and b of a block's columns to a place of its own. Before Hopper there is no engine for
// that: there the workers copy when they need it.
#pragma once
#include "sordino/trsv/cuda/meetings.cuh"
#include "sordino/trsv/cuda/wide_shapes.hpp"

namespace sordino::trsv {

/// Bytes, which may be none, of far memory, and where they come to. All are multiples of 16.
struct Piece {
  char* to = nullptr;
  const void* from = nullptr;
  i32 bytes = 0;
  bool is_read_again = false;  // by other tasks
};

/// A barrier of the block, in shared memory, whose phases follow one another: each ends when so many have arrived, and all
/// bytes that were expected are there.
class PhaseBarrier {
 public:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  /// One thread, before all threads meet.
  __device__ void begin(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory"); }
  __device__ void arrive_and_expect(i32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  /// Whether a phase has ended, counted from 0: the one that goes on, or the one before. It may take a while to say no.
  __device__ bool has_ended(u32 phase) {
    u32 done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address()), "r"(phase & 1)
                 : "memory");
    return done != 0;
  }
  /// One thread: expected bytes. What is read by nobody else is the first to leave the L2 cache again.
  __device__ void copy(const Piece& p) {
    if (p.bytes == 0) return;
    u64 policy;
    if (p.is_read_again)
      asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    else
      asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
            u32(__cvta_generic_to_shared(p.to))),
        "l"(__cvta_generic_to_global(p.from)), "r"(p.bytes), "r"(address()), "l"(policy)
        : "memory");
  }

 private:
  __device__ u32 address() const { return u32(__cvta_generic_to_shared(&word_)); }
#endif
  u64 word_;
};

/// In shared memory. Slices are counted from the first one of the kernel, and so are copies of columns; courier and workers see
/// the same ones in the same order. A task of subtrees has as many slices as there are places, of which the first one brings
/// all, to the begin of the ring, and beyond its end if there is more.
class WideRing {
 public:
  /// One thread, before all threads meet.
  __device__ void begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    for (int k = 0; k < places_of_ring; k++) full_[k].begin(1), used_[k].begin(worker_warps);
    columns_.begin(1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }

  // --- the courier's one thread -------------------------------------------------------------------------------------------

  __device__ void start([[maybe_unused]] u32 slice, [[maybe_unused]] const Piece& a, [[maybe_unused]] const Piece& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    PhaseBarrier& full = full_[slice % places_of_ring];
    full.arrive_and_expect(a.bytes + b.bytes);
    full.copy(a);
    full.copy(b);
#endif
  }
  __device__ void start_columns([[maybe_unused]] const Piece& columns) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    columns_.arrive_and_expect(columns.bytes);
    columns_.copy(columns);
#endif
  }
  /// Whether all workers have used it.
  __device__ bool is_used([[maybe_unused]] u32 slice) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return used_[slice % places_of_ring].has_ended(slice / places_of_ring);
#else
    return true;
#endif
  }
  __device__ void drain([[maybe_unused]] u32 slice) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    while (!full_[slice % places_of_ring].has_ended(slice / places_of_ring)) {
    }
#endif
  }
  __device__ void drain_columns([[maybe_unused]] u32 copy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    while (!columns_.has_ended(copy)) {
    }
#endif
  }

  // --- all workers --------------------------------------------------------------------------------------------------------

  /// Until a slice is there, of pieces as start() was given.
  __device__ void wait([[maybe_unused]] u32 slice, [[maybe_unused]] const Piece& a, [[maybe_unused]] const Piece& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    drain(slice);
#else
    copy_by_workers(a, b);
#endif
  }
  __device__ void wait_for_columns([[maybe_unused]] u32 copy, [[maybe_unused]] const Piece& columns) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    drain_columns(copy);
#else
    copy_by_workers(columns, {});
#endif
  }
  /// Each warp: it has read what it needs of a slice.
  __device__ void use([[maybe_unused]] u32 slice) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __syncwarp();
    if (threadIdx.x % 32 == 0) used_[slice % places_of_ring].arrive();
#endif
  }

 private:
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
  __device__ static void copy_by_workers(const Piece& a, const Piece& b) {
    meet_workers();  // nobody needs what was there
    for (const Piece* p : {&a, &b})
      for (i32 at = 16 * i32(threadIdx.x); at < p->bytes; at += 16 * worker_threads)
        *reinterpret_cast<int4*>(p->to + at) = *reinterpret_cast<const int4*>(static_cast<const char*>(p->from) + at);
    meet_workers();
  }
#endif
  PhaseBarrier full_[places_of_ring], used_[places_of_ring], columns_;
};

}  // namespace sordino::trsv
