// Waiting in tests for what others do.
#pragma once
#include <chrono>
#include <functional>
#include <thread>

namespace test {

/// Whether `ready` was true within so many seconds.
inline bool within(double seconds, const std::function<bool()>& ready) {
  auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!ready()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

}  // namespace test
