#include "sordino/runtime/threads.hpp"

#include <chrono>
#include <exception>
#include <system_error>

#include "sordino/base/error.hpp"

namespace sordino {

ThreadTeam::ThreadTeam(int threads) : state_(std::make_shared<State>()) {
  try {
    for (int i = 0; i < threads; i++) threads_.emplace_back(loop, state_, i);
  } catch (const std::system_error&) {
    end();
    throw Error(Errc::unsupported, "this machine starts no more than " + std::to_string(threads_.size()) + " threads, and " +
                                       std::to_string(threads) + " ranks were asked for");
  }
}

ThreadTeam::~ThreadTeam() { end(); }

void ThreadTeam::end() {
  {
    std::lock_guard lock(state_->mutex);
    state_->end = true;
  }
  state_->wake.notify_all();
  for (auto& t : threads_) {
    if (stuck_)
      t.detach();
    else
      t.join();
  }
}

void ThreadTeam::loop(std::shared_ptr<State> state, int i) {
  unsigned long seen = 0;
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->wake.wait(lock, [&] { return state->end || state->round != seen; });
    if (state->end) return;
    seen = state->round;
    auto job = state->job;
    lock.unlock();
    job(i);
    lock.lock();
    if (--state->running == 0) state->done.notify_all();
  }
}

bool ThreadTeam::run(const std::function<void(int)>& job, const std::function<double()>& tick) {
  using clock = std::chrono::steady_clock;
  std::unique_lock lock(state_->mutex);
  state_->job = job;
  state_->running = int(threads_.size());
  state_->round++;
  state_->wake.notify_all();
  bool limited = false;
  clock::time_point limit;
  std::exception_ptr failed;  // what tick() threw: the team works on what its caller holds, so it is waited for
  while (!state_->done.wait_for(lock, std::chrono::milliseconds(50), [&] { return state_->running == 0; })) {
    if (failed) continue;
    lock.unlock();
    double left = -1;
    try {
      left = tick();
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    if (left >= 0 && !limited) {
      limited = true;
      limit = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(left));
    }
    if (limited && clock::now() > limit && state_->running > 0) {
      stuck_ = true;
      return false;
    }
  }
  state_->job = nullptr;  // nobody runs it any more, and it may hold who holds this team
  if (failed) std::rethrow_exception(failed);
  return true;
}

}  // namespace sordino
