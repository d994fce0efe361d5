#include "sordino/runtime/duty.hpp"

#include <chrono>

#include "sordino/base/clock.hpp"

namespace sordino {

Duty::Duty(std::function<bool()> look, std::function<bool()> may_leave)
    : look_(std::move(look)), may_leave_(std::move(may_leave)), thread_([this] { live(); }) {}

Duty::~Duty() { end(); }

void Duty::begin() {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  wanted_ = true;
  off_ = false;
  changed_.notify_all();
}

void Duty::leave() {
  std::unique_lock lock(mutex_);
  wanted_ = false;
  changed_.wait(lock, [&] { return off_; });
}

void Duty::end() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

// It sleeps on `off_`, not on `wanted_`: who begins and leaves at once waits for it all the same.
void Duty::live() {
  constexpr double farewell = 5;  // seconds
  double found = 0, asked = 0;    // when something was found last; when it was first seen that this thread may go
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (off_) {
      changed_.wait(lock, [&] { return !off_ || ended_; });
      found = asked = 0;
      continue;
    }
    bool has_found = look_();
    double now = seconds_now();
    if (has_found) found = now;
    if (wanted_) {
      asked = 0;
    } else if (!has_found) {
      if (asked == 0) asked = now;
      if (may_leave_() || now - asked > farewell) {
        off_ = true;
        changed_.notify_all();
        continue;
      }
    }
    lock.unlock();
    if (now - found < 1e-3)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    lock.lock();
  }
  off_ = true;
  changed_.notify_all();
}

}  // namespace sordino
