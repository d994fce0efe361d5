// The second half of a split-phase communication. Whoever starts one must finish it.
#pragma once
#include <exception>
#include <functional>
#include <utility>

#include "sordino/base/error.hpp"

namespace sordino {

/// Move-only. get() waits, with the engine's timeout, and may be called once; test() says, without waiting, whether get() would
/// return or throw at once, lets everything that its rank has under way go on, and throws if another rank has failed (on the
/// model, whose clock stands still meanwhile, only get() lets others act). Dropping one unfinished throws, except while
/// the stack unwinds from another error: a fault must not hide behind its consequences.
template <class T>
class [[nodiscard]] Pending {
 public:
  explicit Pending(std::function<T()> finish, std::function<bool()> test = {})
      : finish_(std::move(finish)), test_(std::move(test)) {}
  Pending(Pending&& other) noexcept : finish_(std::exchange(other.finish_, nullptr)), test_(std::move(other.test_)) {}
  Pending& operator=(Pending&&) = delete;
  ~Pending() noexcept(false) {
    if (finish_ && std::uncaught_exceptions() <= unwinding_) bad_argument("a communication was started and never finished");
  }

  bool test() {
    if (!finish_) bad_argument("a communication was finished twice");
    return !test_ || test_();
  }
  T get() {
    if (!finish_) bad_argument("a communication was finished twice");
    test_ = nullptr;
    return std::exchange(finish_, nullptr)();
  }

 private:
  std::function<T()> finish_;
  std::function<bool()> test_;
  int unwinding_ = std::uncaught_exceptions();  // errors that were in flight when it was made
};

}  // namespace sordino
