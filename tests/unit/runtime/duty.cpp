#include "sordino/runtime/duty.hpp"

#include <atomic>

#include "check.hpp"

using namespace sordino;

namespace {

/// A duty that finds nothing, and may always leave.
struct Idle {
  std::atomic<int> looks{0};
  Duty duty{[this] {
              looks++;
              return false;
            },
            [] { return true; }};
};

}  // namespace

TEST("duty: who begins and leaves at once comes back, however quick") {
  Idle idle;
  for (int round = 1; round <= 5000; round++) {
    idle.duty.begin();
    idle.duty.leave();
    CHECK(idle.looks >= round);
  }
}

TEST("duty: nothing is looked at before the beginning, nor after the end") {
  Idle idle;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(idle.looks == 0);
  idle.duty.begin();
  idle.duty.leave();
  int seen = idle.looks;
  CHECK(seen > 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(idle.looks == seen);
  idle.duty.end();
  idle.duty.begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(idle.looks == seen);
}

TEST("duty: it leaves when all that was found is done, and others need nothing more") {
  std::atomic<int> left{100}, needed{30};
  Duty duty([&] { return left > 0 && left-- > 0; }, [&] { return needed-- <= 0; });
  duty.begin();
  duty.leave();
  CHECK(left == 0);
  CHECK(needed == -1);
}

TEST("duty: it ends on duty and off it, and twice") {
  for (int round = 0; round < 200; round++) {
    Duty duty([] { return false; }, [] { return false; });
    if (round % 2) duty.begin();
    duty.end();
    if (round % 3) duty.end();
    duty.leave();
  }
}
