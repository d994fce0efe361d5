// A replay that was started and goes on while its rank does something else.
#pragma once
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "sordino/runtime/command.hpp"

namespace sordino {

class Program;
class Rank;

/// What one recording leaves for the next: vectors whose ghosts a peer may still be reading when it ends, and vectors it pushes
/// before it has met its peers. Where the two overlap, a replay begins with a barrier.
struct Settling {
  std::set<int> early, unsettled;  // physical vectors
};

/// What earlier recordings have begun and not ended: reductions started, vectors pushed.
struct Carried {
  std::vector<int> open, unread;  // reduction slots, logical vectors
  bool operator==(const Carried&) const = default;
};

/// A recorded body. Cheap to copy, and copies are the same recording; compiled by the engine when first replayed or rehearsed
/// (runtime/rehearsal.hpp), and again only if a rotation left the names in another order.
class Recorded {
 public:
  Recorded() = default;
  explicit Recorded(std::shared_ptr<Recording> r) : recording_(std::move(r)), made_(std::make_shared<Made>()) {}
  explicit operator bool() const { return recording_ != nullptr; }
  const Recording& recording() const { return *recording_; }

 private:
  friend class Rank;
  struct Compiled {
    std::shared_ptr<Program> program;
    Settling settling;
    Carried found;  // when it was checked
  };
  struct Made {
    std::map<std::vector<int>, Compiled> programs;
    std::map<std::vector<int>, Recorded> drains;
  };
  std::shared_ptr<Recording> recording_;
  std::shared_ptr<Made> made_;
};

/// The replay that a rank has under way, if any: its handle and its rank share it, and either may go first.
struct UnderWay {
  std::atomic<u64> current{0};  // the number of the replay; 0: none
  u64 drawn = 0;                // numbers so far
  Rank* rank = nullptr;
  bool inside = false;    // its commands, or what they wait for, have the thread
  bool given_up = false;  // an error left its scope before it had ended
  bool goes_on = false;   // what it carries is for the next replay
  Recorded recorded;
  std::shared_ptr<Program> program;  // null: there was nothing to replay
};

/// While it lives, the thread is with the replay's commands.
class Inside {
 public:
  explicit Inside(UnderWay& replay) : replay_(replay), before_(std::exchange(replay.inside, true)) {}
  ~Inside() { replay_.inside = before_; }
  Inside(const Inside&) = delete;

 private:
  UnderWay& replay_;
  bool before_;
};

/// Rank::start() returns it. Move-only; used by the thread of its rank.
///
/// test() says, without waiting, whether the recorded commands have ended on this rank, and lets them go on; wait() waits for
/// that, with the engine's timeout, receives what a loop carried over, and returns what Rank::replay() returns. Both throw what
/// replay() throws, after which the replay is over, and bad_argument if it was over before. test() true: wait() waits for
/// nobody, but for what the loop carried over.
///
/// The destructor waits, as wait() does, and throws what that throws. While the stack unwinds from an error it does not wait:
/// the replay is given up, and with it the run, since every other use of the rank is then refused.
///
/// Who makes it go on, while the thread does something else:
///   cuda   the GPU runs what it has: up to two chunks (Options::chunk), 64 of them in a WHILE graph, or all up to a host task.
///          More is launched inside test() and wait(), and while the rank waits for host data. Host tasks run there, too. A
///          test() costs a look at host memory, about 0.1 us, and what it launches.
///   host   the rank's thread is who computes. test() runs one command at most, and none that would have to wait for other
///          ranks; waiting for host data runs as many as can go on.
///   model  the device runs beside the program, on the virtual clock. test() takes host_overhead_s, and at least 0.1 us, so
///          that others can act meanwhile; host tasks wait until the program waits or tests.
/// Other ranks wait for this one: a thread that stays away from test() and wait() for longer than the engine's timeout looks to
/// them like one that is stuck, unless what the GPU has is all that there is.
class [[nodiscard]] Replay {
 public:
  Replay(Replay&& other) noexcept = default;
  Replay& operator=(Replay&&) = delete;
  ~Replay() noexcept(false);

  bool test();
  Outcome wait();

 private:
  friend class Rank;
  explicit Replay(std::shared_ptr<UnderWay> state) : state_(std::move(state)), number_(state_->current) {}
  bool is_under_way() const { return state_ && state_->current.load() == number_; }
  Rank& rank() const;  // throws if it is over, or this is another thread

  std::shared_ptr<UnderWay> state_;  // null: moved away
  u64 number_;
  std::thread::id thread_ = std::this_thread::get_id();
  int unwinding_ = std::uncaught_exceptions();  // errors that were in flight when it was started
};

}  // namespace sordino
