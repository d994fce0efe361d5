// Nothing allocates after the first iteration: operator new is counted in this executable, except under a sanitizer, which has its own.
#include <atomic>
#include <cstdlib>
#include <new>

#include "check.hpp"
#include "host_bench.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<long> allocations{0};
}

#if COUNTS_ALLOCATIONS
void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

using namespace host_bench;

TEST("iterations of a loop allocate nothing") {
  if (!COUNTS_ALLOCATIONS) SKIP("a sanitizer replaces operator new");
  for (int ranks : {1, 2, 3}) {
    NOTE("ranks = ", ranks);
    HostEngine engine({.ranks = ranks});
    std::vector<std::unique_ptr<Growth>> programs(static_cast<std::size_t>(ranks));
    engine.run([&](Rank& s) {
      programs[std::size_t(s.id())] = std::make_unique<Growth>(s, NAN);
      programs[std::size_t(s.id())]->run(3);
      s.history.clear();
      s.history.reserve(1 << 14);
    }, {});
    auto during = [&](int iterations) {
      long before = allocations;
      engine.run([&](Rank& s) {
        s.history.clear();
        programs[std::size_t(s.id())]->run(iterations);
      }, {});
      return allocations - before;
    };
    long few = during(10);
    CHECK(few > 0);  // a run of the engine may allocate: it shows that allocations are counted
    CHECK(during(5000) == few);
  }
}
