// Ranges that are timed: names, counts, and the thread that took longest.
#include "sordino/base/range_times.hpp"

#include <chrono>
#include <thread>

#include "check.hpp"
#include "sordino/base/range.hpp"

using namespace sordino;

TEST("ranges are timed by name, nested ones in both, and nobody is left looking") {
  {
    const Range before("before");
  }
  time_ranges();
  {
    const Range outer("outer");
    for (int k = 0; k < 3; k++) {
      const Range inner("inner");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::thread([] { const Range other("other thread's"); }).join();
  }
  const std::vector<RangeTime> found = timed_ranges();
  CHECK(found.size() == 3u);
  CHECK(found[0].name == "outer");
  CHECK(found[0].count == 1);
  CHECK(found[1].name == "inner");
  CHECK(found[1].count == 3);
  CHECK(found[2].name == "other thread's");
  CHECK(found[1].seconds >= 0.006);
  CHECK(found[0].seconds >= found[1].seconds);
  CHECK(range_sink.load() == nullptr);
  time_ranges();
  CHECK(timed_ranges().empty());
}
