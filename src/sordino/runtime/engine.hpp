// An engine decides who executes a recorded program, and what time it is.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sordino/base/ledger.hpp"
#include "sordino/base/status.hpp"
#include "sordino/runtime/accounts.hpp"
#include "sordino/runtime/command.hpp"
#include "sordino/runtime/machine.hpp"
#include "sordino/runtime/mailbox.hpp"
#include "sordino/runtime/summing.hpp"
#include "sordino/runtime/trace.hpp"

namespace sordino {

class Rank;
class RowPort;
class Transport;
struct TwinCopy;

/// Ranks first, ..., end - 1.
struct RankRange {
  int first = 0, end = 0;
  int size() const { return end - first; }
  bool operator==(const RankRange&) const = default;
};

/// What comm/ has under way for one rank. An engine that keeps the rank waiting, or begins a command for it, lets it go on; so
/// may a thread of the engine's own. None of it waits or throws.
class Attendant {
 public:
  virtual ~Attendant() = default;
  virtual bool busy() const = 0;  // whether anything is under way
  virtual void advance() = 0;
  virtual void advance_offloaded() = 0;  // only what the network adapter carries on while the processor is busy
};

/// What a look at a replay has found, or brought about.
enum class Advance {
  blocked,  // it waits for the device, or for other ranks
  moved,
  ended,
};

/// A recording bound to one rank's memory by one engine: pointers, channels, graphs. Made once, replayed often, by the rank's
/// thread; what throws has ended the replay.
class Program {
 public:
  virtual ~Program() = default;
  virtual void prepare() {}         // makes what a later replay would make for itself; collective, and nothing runs
  virtual void start(int max) = 0;  // begins to replay up to `max` iterations
  virtual Advance advance() = 0;    // a piece of it, without waiting
  virtual Outcome wait() = 0;       // until they have ended on this rank
  virtual void give_up() {}         // nobody asks any more: what it uses may go
};

/// What a run is doing, for whoever supervises it from outside; written by the first local rank.
struct Progress {
  std::atomic<int> iteration{0};  // exit tests, each counted as its loop's steps
  std::atomic<double> value{0};   // what the last exit test put into the history
};

/// An array that is made piece by piece.
struct MadeArray {
  std::vector<i64> begins;  // [pieces + 1] in bytes; the last piece ends at the last one
  /// Writes a piece; of several at the same time, in any order.
  std::function<void(i64 piece, void* to)> make;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;
  virtual int size() const = 0;                 // ranks of all processes
  virtual int first_rank() const { return 0; }  // of this process
  virtual int local_ranks() const { return size(); }
  virtual Carrier carrier(int from, int to) const = 0;  // of messages of a rank of this process
  /// What messages between its ranks cost, roughly: by that ways are chosen that nobody has asked for.
  virtual Machine described() const { return {}; }
  virtual bool arithmetic() const { return true; }  // false: the model engine skips it, and values do not exist

  /// Runs `job` on every local rank and returns when all have ended. If a rank fails, all ranks stop, and the first cause is
  /// thrown here. `supervise` is called about 20 times a second on the calling thread.
  virtual void run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise = {}) = 0;
  virtual Rank& rank(int local) = 0;
  /// After a fault: a rank never came back from its job. Whatever it may still touch when it does must not be freed.
  virtual bool has_lost_a_rank() const { return false; }

  /// Asks all ranks to leave their loops at the same iteration. The request travels in the flags of reductions and
  /// all-gathers, so it costs no message of its own. Async-signal-safe.
  void request_stop() { stop_.store(true, std::memory_order_relaxed); }
  void clear_stop() { stop_.store(false, std::memory_order_relaxed); }
  bool stop_requested() const { return stop_.load(std::memory_order_relaxed); }
  const Progress& progress() const { return progress_; }
  void reset_progress() {
    progress_.iteration = 0;
    progress_.value = 0;
  }
  Trace& trace() { return trace_; }

  // --- what a Rank asks of its engine -----------------------------------------------------------------------------------
  virtual void allocate(Rank& rank, int vector) = 0;     // storage of a new vector, zeroed; peers see it after barrier()
  virtual void add_reduction(Rank& rank, int slot) = 0;  // likewise
  virtual void barrier(Rank& rank) = 0;
  virtual std::unique_ptr<Program> compile(Rank& rank, const Recording& recording, const std::vector<int>& vector_map,
                                           const std::vector<int>& scalar_map) = 0;
  // Engines of GPUs also copy from and to memory of any of them, on which no other work is under way.
  virtual void write(Rank& rank, int physical, const double* host, i64 count) = 0;
  virtual void read(Rank& rank, int physical, double* host, i64 count) = 0;
  virtual void set_scalar(Rank& rank, int physical, double value) = 0;
  virtual double get_scalar(Rank& rank, int physical) = 0;  // throws if it was skipped or never computed
  virtual double now(Rank& rank) = 0;                       // seconds on this engine's clock

  // Memory that is not a vector: an operator's arrays. Null where the engine skips arithmetic.
  virtual void* allocate_bytes(Rank& rank, std::size_t bytes) = 0;
  virtual void release_bytes(Rank& rank, void* pointer, std::size_t bytes) = 0;
  virtual void upload(Rank& rank, void* to, const void* from, std::size_t bytes) = 0;
  /// The same of an array of gigabytes that threads make, by so many of them, without a copy of the whole. `to` may be null
  /// where the engine skips arithmetic. Memory of the host on the way: 96 MiB, or two of the largest piece. Throws what `make`
  /// throws, and where the device is waited for PeerFailed of another rank that failed.
  virtual void upload_made(Rank& rank, void* to, const MadeArray& array, int threads);
  virtual i64 bytes_held(int local_rank) const = 0;  // vectors and arrays of one rank; not their twins (Rank::twin_bytes)
  /// Device and pinned memory, graphs and events that were made for a rank so far, each counted; 0 where there is no device.
  virtual i64 device_allocations(int /*local_rank*/) const { return 0; }
  virtual bool is_device() const { return false; }  // prefer layouts for a GPU

  // Host twins of vectors (runtime/twin.hpp). Memory for one, zeroed, kept as long as the engine; null: any of the host's does.
  virtual double* pinned_twin(Rank&, int /*vector*/) { return nullptr; }
  virtual void start_copy(Rank& rank, const TwinCopy& copy);  // one at a time for each twin, and for each vector
  virtual bool has_copied(Rank&, const TwinCopy&) { return true; }
  virtual void wait_for_copy(Rank&, const TwinCopy&) {}

  /// Rows between ranks outside of recordings (runtime/row_port.hpp). Throws `unsupported` where the engine brings none.
  virtual RowPort& row_port();

  // Host data between recordings (comm/communicator.hpp).
  virtual void post(Rank& from, int to, i64 tag, std::vector<std::byte> data) = 0;
  virtual std::vector<std::byte> take(Rank& at, int from, i64 tag) = 0;  // waits, with the engine's timeout
  /// For a rank that asks again and again instead of waiting: throws if another one has failed, and takes in what has come.
  virtual void look(Rank&) {}
  virtual std::optional<Letter> try_take(Rank& at, int from, i64 tag) = 0;  // from < 0: of any rank; no waiting
  /// Waits, with the engine's timeout, until ready(), which is asked whenever host data has come and looks for it itself.
  virtual void wait_for_mail(Rank& at, const std::function<bool()>& ready, const std::function<std::string()>& what) = 0;
  /// As post(), past shortcuts within a node: the way of data that a network adapter reduces.
  virtual void post_by_adapter(Rank& from, int to, i64 tag, std::vector<std::byte> data) {
    post(from, to, tag, std::move(data));
  }
  /// The ranks among which data travels without a network: those of one process, or of one node of a described machine.
  virtual RankRange node_of(int /*rank*/) const { return {0, size()}; }
  /// A leader gathers or spreads data for this many other ranks of its node: machines on which that takes time book it.
  virtual void book_leading(Rank&, int /*others*/) {}
  virtual Transport* transport() { return nullptr; }  // to other processes, if there are any
  Accounts& accounts() { return accounts_; }          // of what its ranks record
  /// From now on sums of recorded reductions over all ranks go this way; before any rank has one. Null: the engine's own way.
  virtual void sum_by(std::unique_ptr<Summing> way) { summing_ = std::move(way); }
  Summing* summing() const { return summing_.get(); }
  /// One a rank, made by comm/ on the rank's thread when first needed; null before.
  Attendant* attendant(int local_rank) { return seat(local_rank).there.load(std::memory_order_acquire); }
  void set_attendant(int local_rank, std::unique_ptr<Attendant> attendant) {
    Seat& s = seat(local_rank);
    s.owner = std::move(attendant);
    s.there.store(s.owner.get(), std::memory_order_release);
  }

 protected:
  Progress progress_;
  Trace trace_;
  std::atomic<bool> stop_{false};

 private:
  struct Seat {
    std::unique_ptr<Attendant> owner;
    std::atomic<Attendant*> there{nullptr};
  };
  Seat& seat(int local_rank) {
    std::call_once(seated_, [this] { seats_ = std::vector<Seat>(std::size_t(local_ranks())); });
    return seats_[std::size_t(local_rank)];
  }
  Accounts accounts_;
  std::once_flag seated_;
  std::vector<Seat> seats_;
  std::unique_ptr<Summing> summing_;  // after the seats, where its sums are at home
};

}  // namespace sordino
