// Nothing allocates after the first iteration.
#include "check.hpp"
#include "host_bench.hpp"
#include "unit/counting_new.hpp"

using counting_new::allocations;
using namespace host_bench;

TEST("iterations of a loop allocate nothing") {
  if (!COUNTS_ALLOCATIONS) SKIP("a sanitizer replaces operator new");
  for (int ranks : {1, 2, 3}) {
    NOTE("ranks = ", ranks);
    HostEngine engine({.ranks = ranks});
    std::vector<std::unique_ptr<Growth>> programs(static_cast<std::size_t>(ranks));
    engine.run(
        [&](Rank& s) {
          programs[std::size_t(s.id())] = std::make_unique<Growth>(s, NAN);
          programs[std::size_t(s.id())]->run(3);
          s.history.clear();
          s.history.reserve(1 << 14);
        },
        {});
    auto during = [&](int iterations) {
      long before = allocations;
      engine.run(
          [&](Rank& s) {
            s.history.clear();
            programs[std::size_t(s.id())]->run(iterations);
          },
          {});
      return allocations - before;
    };
    long few = during(10);
    CHECK(few > 0);  // a run of the engine may allocate: it shows that allocations are counted
    CHECK(during(5000) == few);
  }
}
