// A waiting thread spins briefly, then sleeps here until another rings or a moment has passed.
#pragma once
#include <atomic>
#include <ctime>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "sordino/base/types.hpp"

namespace sordino {

class Bell {
 public:
  void ring() {
    // The fence orders the ringer's data before its look at `asleep_`: either it sees the sleeper, or the sleeper sees the
    // data.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_relaxed)) wake();
  }

  /// Sleeps unless `ready()`; returns after a ring or at most `nanoseconds`.
  template <class Ready>
  void sleep(const Ready& ready, long nanoseconds) {
    asleep_.store(1, std::memory_order_seq_cst);
    [[maybe_unused]] u32 seen = rings_.load(std::memory_order_seq_cst);
    if (!ready()) {
      timespec t{0, nanoseconds};
#ifdef __linux__
      syscall(SYS_futex, reinterpret_cast<u32*>(&rings_), FUTEX_WAIT_PRIVATE, seen, &t, nullptr, 0);
#else
      nanosleep(&t, nullptr);
#endif
    }
    asleep_.store(0, std::memory_order_relaxed);
  }

 private:
  void wake() {
    rings_.fetch_add(1, std::memory_order_seq_cst);
#ifdef __linux__
    syscall(SYS_futex, reinterpret_cast<u32*>(&rings_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
#endif
  }

  alignas(64) std::atomic<u32> rings_{0};
  std::atomic<int> asleep_{0};
};

}  // namespace sordino
