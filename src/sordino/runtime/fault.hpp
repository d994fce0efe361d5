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
    Errc code = Errc::peer_failed;
    std::string cause;
    bool original = true;  // raised in this process, and not heard of
  };

  /// Keeps the first cause; later ones are consequences. Returns whether this was the first.
  bool raise(Errc code, const std::string& cause, bool original = true) {
    std::lock_guard lock(mutex_);
    if (raised_.load(std::memory_order_relaxed)) return false;
    said_ = {code, cause, original};
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
  std::string cause() const {
    std::lock_guard lock(mutex_);
    return said_.cause;
  }
  Errc code() const {
    std::lock_guard lock(mutex_);
    return said_.code;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> raised_{false};
  Statement said_;
};

/// For tests: called before each phase on CPU engines; may throw, sleep or never return.
using Probe = std::function<void(Rank&, const Command&, Op, int iteration)>;

const char* name(Op op);

}  // namespace sordino
