#include "sordino/runtime/host/bell.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"

using namespace sordino;

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST("a bell that nobody rings wakes its sleeper after the given time") {
  Bell bell;
  auto begin = std::chrono::steady_clock::now();
  bell.sleep([] { return false; }, 20'000'000);
  CHECK(seconds_since(begin) > 0.015);
}

TEST("who is ready does not sleep") {
  Bell bell;
  auto begin = std::chrono::steady_clock::now();
  bell.sleep([] { return true; }, 900'000'000);
  CHECK(seconds_since(begin) < 0.5);
}

TEST("a ring wakes the sleeper, and no ring is lost in 2,000 turns of two threads") {
  Bell ping, pong;
  std::atomic<int> turn{0};
  auto play = [&](int me, Bell& mine, Bell& other) {
    for (int i = 0; i < 2000; i++) {
      auto ready = [&] { return turn.load(std::memory_order_acquire) == 2 * i + me; };
      while (!ready()) mine.sleep(ready, 900'000'000);
      turn.store(2 * i + me + 1, std::memory_order_release);
      other.ring();
    }
  };
  auto begin = std::chrono::steady_clock::now();
  std::thread other([&] { play(1, pong, ping); });
  play(0, ping, pong);
  other.join();
  CHECK(turn == 4000);
  CHECK(seconds_since(begin) < 20);  // some lost rings alone would take longer
}
