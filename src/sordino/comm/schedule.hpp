// A collective's steps as a coroutine: it reads like the textbook's loop, stops where it awaits a message, and goes on when the
// message has come. Waiting for the collective and letting it run beside other work are then the same code.
#pragma once
#include <coroutine>
#include <exception>
#include <utility>

namespace sordino {

class [[nodiscard]] Schedule {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct Return {  // to the schedule that awaits this one, if any
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle ended) const noexcept {
      return ended.promise().caller ? ended.promise().caller : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  struct promise_type {
    std::coroutine_handle<> caller;
    std::exception_ptr error;
    Schedule get_return_object() { return Schedule(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Return final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };

  Schedule() = default;
  explicit Schedule(Handle handle) : handle_(handle) {}
  Schedule(Schedule&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Schedule& operator=(Schedule&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Schedule() {
    if (handle_) handle_.destroy();
  }

  std::coroutine_handle<> handle() const { return handle_; }
  bool ended() const { return handle_.done(); }
  std::exception_ptr error() const { return handle_.promise().error; }

  // co_await schedule: runs it to its end, then goes on here.
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  void await_resume() const {
    if (error()) std::rethrow_exception(error());
  }

 private:
  Handle handle_;
};

}  // namespace sordino
