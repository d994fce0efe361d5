#include "sordino/trsv/late_tasks.hpp"

#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/runtime/model/noise.hpp"

namespace sordino::trsv {

double lateness(u64 seed, i32 task) {
  constexpr double longest = 100e-6;
  const u64 bits = model::mix(model::mix(seed) + u64(task));
  return bits % 4 == 0 ? longest * model::fraction(bits) : 0;
}

std::function<void(i32)> late_tasks(u64 seed) {
  return [seed](i32 task) {
    const double late = lateness(seed, task);
    if (late == 0) return;
    const double end = seconds_now() + late;
    while (seconds_now() < end) std::this_thread::yield();
  };
}

}  // namespace sordino::trsv
