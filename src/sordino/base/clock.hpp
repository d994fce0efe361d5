// The wall clock that waits are measured with: never set back.
#pragma once
#include <chrono>

namespace sordino {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace sordino
