// One rank's collectives and receives under way, over all its communicators. Whoever waits for one lets all go on: ranks may
// finish them in different orders.
//
// A Letter lies in the engine's Mailbox until the Desk fetches it, for an Operation (a collective) or for a Parcel (a started
// receive). Engines know the Desk as their rank's Attendant, and let it go on while the rank waits; some have a thread for
// that. So everything here is done under the Desk's lock, but for what only the rank's own thread touches. The lock is held
// while messages are sent and fetched, and never while anybody waits.
#pragma once
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "sordino/comm/operation.hpp"

namespace sordino {

/// What a started receive waits for.
struct Parcel {
  std::atomic<bool> here{false};  // then the others stay as they are
  Bytes data;
  std::exception_ptr error;  // of opening it
};

/// Who may use something that all ranks must use in the same order: numbers are drawn on the first rank alone.
struct Queueing {
  u64 drawn = 0, served = 0;  // numbers
};

class Desk final : public Attendant {
 public:
  static Desk& of(Rank& rank);
  explicit Desk(Rank& rank) : rank_(rank) {}

  static constexpr int most_channels = 1 << 11;
  /// Tags below 0 belong to collectives: a channel, and 32 bits of its collective's number. The others are channels, those of
  /// rows that a vector sends, and those on which their receivers answer; from 2^32 on they are the runtime's own
  /// (runtime/accounts.cpp).
  /// A number comes again after 2^32 collectives. A letter of the first use cannot be there any more: each collective has left
  /// one with some rank that has not got so far, of 60 bytes at least, and no memory holds 256 GB of unread letters.
  static i64 tag(int channel, u32 number) { return -1 - (i64(channel) << 32 | i64(number)); }
  static int tag_of_rows(int channel) { return most_channels + channel; }
  static int tag_of_answers(int channel) { return 2 * most_channels + channel; }
  static Signature signature_in(const Letter& letter);

  bool busy() const override { return under_way_.load(std::memory_order_relaxed) > 0; }
  void advance() override;
  void advance_offloaded() override;
  void look() {  // for those who ask without waiting
    rank_.engine().look(rank_);
    advance();
  }
  /// Waits until done(). Throws as well if anything else here has failed, or if a rank calls other collectives than this one.
  void wait(const std::function<bool()>& done, const std::function<std::string()>& what);

  template <class F>
  auto locked(F f) {
    std::lock_guard lock(mutex_);
    return f();
  }
  u32 next_number(int channel) {
    return locked([&] { return ++numbers_[channel]; });
  }
  /// Begins the operation: `start` runs it to its first wait.
  void enter(Operation& operation, const std::function<void()>& start);
  void leave(Operation& operation);
  void remember(int channel, u32 number, const Signature& signature);  // under the lock

  /// The next message of `from` with this tag that no earlier receive gets. open() is called with its data as soon as it is
  /// found, under the lock and on any thread: it does not wait. What it throws, waits of this rank do.
  using Open = std::function<void(const Bytes&)>;
  std::shared_ptr<Parcel> expect(int from, int tag, Open open = {});
  void wait(Parcel& parcel, const std::function<std::string()>& what);

  Queueing library_queue;  // all-reduces of the transport's library

 private:
  struct Expected {
    std::shared_ptr<Parcel> parcel;
    Open open;
  };
  void go_on();
  void fetch_parcels();
  void open(const Expected& expected, Letter letter);
  void look_for_strays();
  void throw_if_failed() const;
  void count() {
    auto under_way = [](const Operation* o) { return !o->done(); };
    std::size_t operations = std::size_t(std::count_if(operations_.begin(), operations_.end(), under_way));
    under_way_.store(operations + expected_.size(), std::memory_order_relaxed);
  }

  Rank& rank_;
  std::mutex mutex_;
  std::map<int, u32> numbers_;  // [channel] of its last collective
  std::atomic<std::size_t> under_way_{0};
  std::vector<Operation*> operations_;
  std::map<std::pair<int, int>, std::deque<Expected>> expected_;  // (from, tag)
  std::exception_ptr not_opened_;                                 // what is wrong with a parcel that nobody has waited for yet
  struct Ended {
    int channel;
    u32 number;
    Signature signature;
  };
  std::deque<Ended> ended_;  // the last few: who still sends for one of them meant another collective
};

}  // namespace sordino
