// A rank's program between recordings, on a stack of its own: it can stop in the middle and let others run on the same thread.
// A recording is replayed without a stack, so fibers switch a few times a recording, never once a command.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <functional>

#include "sordino/base/types.hpp"
#include "sordino/runtime/model/sanitizer.hpp"

namespace sordino::model {

/// Stacks of one engine, in one reservation. Memory is used where a stack was touched, and handed back by release().
class Stacks {
 public:
  Stacks(int count, std::size_t bytes);
  ~Stacks();
  Stacks(const Stacks&) = delete;

  std::byte* bottom(int i) const { return base_ + std::size_t(i) * pitch_ + guard_; }
  std::size_t bytes() const { return pitch_ - guard_; }
  /// Contents of all stacks are dropped. None may be in use.
  void release();

 private:
  int count_;
  std::size_t guard_, pitch_;
  std::byte* base_ = nullptr;
};

class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;

  /// `job` will run on this stack from the first resume(). It must not throw.
  void prepare(std::byte* stack, std::size_t bytes, std::function<void()> job);
  /// Runs the job until it ends or suspends.
  void resume();
  /// Called by the job: back to who resumed it.
  void suspend();
  bool ended() const { return ended_; }

 private:
  static void enter(unsigned high, unsigned low);
  void swap_exceptions();

  ucontext_t inside_{}, outside_{};
  std::function<void()> job_;
  bool ended_ = true;
  struct Exceptions {  // which the C++ runtime keeps per thread (__cxa_eh_globals): a fiber may stop inside a handler
    void* caught = nullptr;
    unsigned uncaught = 0;
  };
  Exceptions exceptions_;
  Watched mine_, outer_;
};

}  // namespace sordino::model
