// Device code: who of a thread block waits for whom.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino::trsv {

inline constexpr int worker_threads = 128, worker_warps = worker_threads / 32;
inline constexpr int block_threads = worker_threads + 32;  // and the courier's

/// Barriers of a thread block beside that of __syncthreads(). At the first one the workers meet. At the others one side comes
/// and goes on, and the other one waits for it; what the former has written before is then there for the latter.
enum class Meeting : int {
  workers = 1,
  task_known,   // the courier has put the next task on the desk
  values_used,  // the workers need no values of this task any more
  task_done,    // the workers have stored what others read
};

__device__ __forceinline__ void meet_workers() {
  asm volatile("barrier.cta.sync %0, %1;" ::"n"(int(Meeting::workers)), "n"(worker_threads) : "memory");
}
/// Whether it is true for any of them.
__device__ __forceinline__ bool meet_workers_any(bool is) {
  u32 any;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; barrier.cta.red.or.pred q, %2, %3, p; selp.u32 %0, 1, 0, q; }"
               : "=r"(any)
               : "r"(u32(is)), "n"(int(Meeting::workers)), "n"(worker_threads)
               : "memory");
  return any != 0;
}
template <Meeting where>
__device__ __forceinline__ void come() {
  asm volatile("barrier.cta.arrive %0, %1;" ::"n"(int(where)), "n"(block_threads) : "memory");
}
template <Meeting where>
__device__ __forceinline__ void wait_for() {
  asm volatile("barrier.cta.sync %0, %1;" ::"n"(int(where)), "n"(block_threads) : "memory");
}

}  // namespace sordino::trsv
