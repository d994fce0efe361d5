// The first cause of a failure, known to all ranks. Every wait polls `raised()`; nobody waits for a rank that is gone.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/runtime/command.hpp"

namespace sordino {

class Rank;

class Fault {
 public:
  bool raised() const { return raised_.load(std::memory_order_acquire); }

  struct Statement {
    Error error{Errc::peer_failed, ""};
    bool original = true;  // raised in this process, and not heard of
  };

  /// Keeps the first cause; later ones are consequences. Returns whether this was the first.
  bool raise(const Error& error, bool original = true) {
    std::lock_guard lock(mutex_);
    if (raised_.load(std::memory_order_relaxed)) return false;
    said_ = {error, original};
    raised_.store(true, std::memory_order_release);
    return true;
  }
  /// The one cause of several processes that have raised theirs at the same time.
  void agree_on(const Statement& chosen) {
    std::lock_guard lock(mutex_);
    said_ = chosen;
  }
  Statement statement() const {
    std::lock_guard lock(mutex_);
    return said_;
  }
  Error error() const { return statement().error; }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> raised_{false};
  Statement said_;
};

/// What ranks say that are used again.
inline Error failed_before(const Error& first) {
  return {Errc::peer_failed, std::string("these ranks have failed before (") + first.what() + "): build a new solver",
          first.cause()};
}

/// For tests: called before each phase on CPU engines; may throw, sleep or never return.
using Probe = std::function<void(Rank&, const Command&, Op, int iteration)>;

const char* name(Op op);

}  // namespace sordino
