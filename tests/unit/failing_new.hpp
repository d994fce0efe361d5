// Memory that one thread is refused. Replaces operator new: include in one file of an executable. Not under a sanitizer, which
// has its own.
#pragma once
#include <cstdlib>
#include <limits>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_REFUSE_MEMORY 0
#else
#define CAN_REFUSE_MEMORY 1
#endif

namespace failing_new {

inline thread_local std::size_t most = std::numeric_limits<std::size_t>::max();

/// While it lives its thread gets no pieces of so many bytes or more; 0: it gets all.
struct Refusal {
  explicit Refusal(std::size_t from) {
    if (from > 0) most = from - 1;
  }
  ~Refusal() { most = std::numeric_limits<std::size_t>::max(); }
  Refusal(const Refusal&) = delete;
};

}  // namespace failing_new

#if CAN_REFUSE_MEMORY
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* p = bytes > failing_new::most ? nullptr : std::malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif
