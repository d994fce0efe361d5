// One collective under way on one rank: it carries a schedule's messages, and lets the schedule go on when they have come.
#pragma once
#include <atomic>
#include <map>
#include <vector>

#include "sordino/comm/schedule.hpp"
#include "sordino/comm/signature.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

class Desk;
using Bytes = std::vector<std::byte>;

/// into[k] = into[k] op from[k]. `into` belongs to lower ranks than `from`: what is not commutative to the bit keeps its order.
using Combine = void (*)(Fold, std::byte* into, const std::byte* from, std::size_t count);

class Operation {
 public:
  Operation(Rank& rank, int channel, const Signature& signature, Combine combine);
  Operation(const Operation&) = delete;
  ~Operation();

  // --- for who called the collective ----------------------------------------------------------------------------------------
  void start(Schedule schedule);  // runs it to its first wait
  bool test();                    // whether wait() returns or throws at once
  void wait();                    // throws what went wrong
  std::string what_is_missing() const;
  Bytes values;              // contributed, then the result
  std::vector<Bytes> parts;  // the same, of or for each rank

  // --- for schedules --------------------------------------------------------------------------------------------------------
  int rank() const { return rank_.id(); }
  int size() const { return rank_.size(); }
  Engine& engine() { return rank_.engine(); }
  const Signature& signature() const { return signature_; }
  void send(int to, const Bytes& data);
  /// lower = lower op higher. Throws if they are not equally long.
  void fold(Bytes& lower, const Bytes& higher) const;
  Desk& desk() { return desk_; }
  std::string place() const;  // such as "collective 3 of channel 1"
  void book_leading(int others) { engine().book_leading(rank_, others); }

  struct Receive {
    Operation& operation;
    int from;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> here) { operation.suspend(here, from, {}); }
    Bytes await_resume() { return operation.received(from); }
  };
  Receive receive(int from) { return {*this, from}; }  // co_await it: the next message of this rank

  struct Until {
    Operation& operation;
    const std::function<bool()>& ready;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> here) { operation.suspend(here, -1, ready); }
    void await_resume() const noexcept {}
  };
  Until until(const std::function<bool()>& ready) { return {*this, ready}; }  // co_await it: asked now and then

  // --- for its desk ---------------------------------------------------------------------------------------------------------
  void advance();                                                      // as far as messages allow; does not throw
  bool done() const { return done_.load(std::memory_order_acquire); }  // then nothing here changes any more
  std::exception_ptr error() const { return error_; }

 private:
  void suspend(std::coroutine_handle<> here, int from, std::function<bool()> ready);
  void run(std::coroutine_handle<> from_here);
  void end() { done_.store(true, std::memory_order_release); }
  bool may_go_on();
  void open(Letter letter);
  Bytes received(int from);
  std::string awaited() const;

  Rank& rank_;
  Desk& desk_;
  int channel_;
  u32 number_;  // of this channel's collectives, the same on all ranks
  i64 tag_;
  Signature signature_;
  Combine combine_;
  Schedule schedule_;
  std::coroutine_handle<> suspended_;
  int awaited_ = -1;             // the rank whose message it waits for
  std::function<bool()> ready_;  // or what else
  std::multimap<int, Bytes> inbox_;
  std::atomic<bool> done_{false};
  std::exception_ptr error_;
};

}  // namespace sordino
