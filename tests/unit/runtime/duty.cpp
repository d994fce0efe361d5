#include "sordino/runtime/duty.hpp"

#include <atomic>

#include "check.hpp"

using namespace sordino;

namespace {

bool free_to_go() { return true; }

}  // namespace

TEST("duty: who begins and leaves at once comes back, however quick") {
  std::atomic<int> looks{0};
  Duty duty(
      [&] {
        looks++;
        return false;
      },
      free_to_go);
  for (int round = 1; round <= 5000; round++) {
    duty.begin();
    duty.leave();
    CHECK(looks >= round);
  }
}

TEST("duty: nothing is looked at before the beginning, nor after the end") {
  std::atomic<int> looks{0};
  Duty duty(
      [&] {
        looks++;
        return false;
      },
      free_to_go);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(looks == 0);
  duty.begin();
  duty.leave();
  int seen = looks;
  CHECK(seen > 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(looks == seen);
  duty.end();
  duty.begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(looks == seen);
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
