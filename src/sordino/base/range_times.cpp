#include "sordino/base/range_times.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/base/range.hpp"

namespace sordino {
namespace {

struct Named {
  std::string name;
  int count = 0;
  std::map<std::thread::id, double> seconds;
};

struct Open {
  std::size_t name;
  double begun;
};

std::mutex mutex;
std::vector<Named> names;             // under the mutex, as all of them
thread_local std::vector<Open> open;  // ranges of this thread

void begin(const char* name) {
  std::lock_guard lock(mutex);
  auto at = std::find_if(names.begin(), names.end(), [&](const Named& named) { return named.name == name; });
  if (at == names.end()) at = names.insert(at, {name, 0, {}});
  open.push_back({std::size_t(at - names.begin()), seconds_now()});
}

void end() {
  if (open.empty()) return;  // it began before anybody timed it
  const Open last = open.back();
  open.pop_back();
  std::lock_guard lock(mutex);
  if (last.name >= names.size()) return;
  names[last.name].count++;
  names[last.name].seconds[std::this_thread::get_id()] += seconds_now() - last.begun;
}

constexpr RangeSink sink{begin, end};

}  // namespace

void time_ranges() {
  std::lock_guard lock(mutex);
  names.clear();
  range_sink = &sink;
}

std::vector<RangeTime> timed_ranges() {
  range_sink = nullptr;
  std::lock_guard lock(mutex);
  std::vector<RangeTime> found;
  for (const Named& named : names) {
    RangeTime& time = found.emplace_back(RangeTime{named.name, named.count, 0});
    for (const auto& [thread, seconds] : named.seconds) time.seconds = std::max(time.seconds, seconds);
  }
  names.clear();
  return found;
}

}  // namespace sordino
