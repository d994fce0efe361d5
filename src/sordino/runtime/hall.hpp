// Where the ranks of one host meet, whichever of its processes they belong to: a segment of shared memory with their signs of
// life, two barriers, the first cause of a failure, who complains of what, a directory of memory that others may write to, and
// the pipes of their mail (hall_mail.hpp). Ranks of one process alone have a hall of their own, which nobody else can enter.
//
// Knows no device and no MPI. Nothing here waits for long, but meet(), which is bounded.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/runtime/pulse.hpp"

namespace sordino {

/// A barrier in shared memory: enter(), then wait for is_over() as you like.
class Gate {
 public:
  u32 enter(u32 of) {
    u32 round = round_.load(std::memory_order_acquire);  // stays until I am in, too
    if (inside_.fetch_add(1, std::memory_order_acq_rel) + 1 == of) {
      inside_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
    }
    return round;
  }
  bool is_over(u32 round) const { return round_.load(std::memory_order_acquire) != round; }

 private:
  std::atomic<u32> inside_{0}, round_{0};
};

/// A stream of bytes from one process to another: a ring, of which the first writes `written` and the other `taken`.
struct Pipe {
  alignas(64) std::atomic<u64> written;
  alignas(64) std::atomic<u64> taken;
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }  // [Hall::pipe_bytes()]
};

/// A block of memory that other processes can map, as its driver names it.
struct BlockHandle {
  std::array<std::byte, 64> bytes{};
};
/// Where a vector or a reduction of a rank lies in the blocks it has published.
struct BlockPlace {
  int block = 0;
  u64 offset = 0;      // bytes
  u64 flags = 0;       // vectors: where its peers raise flags, bytes from the beginning of its rows
  int first_part = 0;  // reductions: the first of the parts that this rank sends
};
enum class Published { vector, reduction };
using DeviceIdentity = std::array<std::byte, 16>;

class Hall {
 public:
  static constexpr int most_processes = 32, most_blocks = 1024, most_names = 4096;

  /// For ranks of this process alone.
  explicit Hall(int ranks);
  /// The first process makes the hall; the others enter by its name, which somebody tells them. When all are in, the first
  /// removes the name: then the segment goes with its last process. Both throw Error with one sentence.
  static std::unique_ptr<Hall> make(const std::vector<int>& ranks_of_processes);
  static std::unique_ptr<Hall> enter(const std::string& name, const std::vector<int>& ranks_of_processes, int process);
  ~Hall();
  Hall(const Hall&) = delete;

  const std::string& name() const { return name_; }
  void remove_name();

  int ranks() const { return first_.back(); }
  int processes() const { return int(first_.size()) - 1; }
  int process() const { return process_; }
  int first_rank(int process) const { return first_[process]; }
  int first_rank() const { return first_[process_]; }
  int local_ranks() const { return first_[process_ + 1] - first_[process_]; }
  bool is_local(int rank) const { return rank >= first_[process_] && rank < first_[process_ + 1]; }
  int process_of(int rank) const;

  // --- signs of life ----------------------------------------------------------------------------------------------------
  Pulse& pulse();
  u64 heartbeats() const;  // of all ranks
  void set_waiting(int rank, bool waiting);
  bool is_waiting(int rank) const;

  // --- barriers ---------------------------------------------------------------------------------------------------------
  Gate& gate_of_ranks();
  /// One thread of each process. Returns when all are here or somebody has failed; raises a failure when a process is lost, or
  /// after so many seconds (<= 0: never).
  void meet(double seconds);

  // --- failing ----------------------------------------------------------------------------------------------------------
  bool raised() const;
  /// Keeps the first cause, and says in pulse() that waiting makes no sense any more. Returns whether this was the first.
  bool raise(Errc code, const std::string& cause);
  std::string cause() const;
  Errc code() const;
  /// A rank that lost patience says where, once; what was awaited first in the program is nearest to the cause.
  void complain(int rank, int iteration, int command, const std::string& text);
  int complaints() const;
  std::string first_complaint() const;

  // --- processes --------------------------------------------------------------------------------------------------------
  /// Another process that has died, or has left although this one runs; -1: none. Looks, at most once a millisecond.
  int find_lost();
  std::string obituary(int process) const;  // a sentence on a lost one
  void set_busy(bool busy);                 // inside a run
  /// This process has unmapped what is others'.
  void close();
  /// Every other process has done so, or is gone.
  bool all_closed() const;
  bool others_busy() const;
  /// This process's ranks take part in nothing any more.
  void leave();

  // --- directory: written by its owner before a barrier, read by others behind it -----------------------------------------
  void set_device(int rank, const DeviceIdentity& device);
  DeviceIdentity device(int rank) const;
  void publish(int rank, int block, const BlockHandle& handle);
  BlockHandle block(int rank, int block) const;
  void publish(int rank, Published what, int index, const BlockPlace& place);
  BlockPlace place(int rank, Published what, int index) const;  // throws if it was never published

  Pipe& pipe(int from, int to);
  std::size_t pipe_bytes() const { return pipe_bytes_; }  // a power of two

 private:
  struct Segment;
  struct Member;
  struct Seat;
  Hall(const std::vector<int>& ranks_of_processes, int process);
  void map(int file);
  void sit_down();
  Seat& seat(int rank) const;
  bool is_gone(int process) const;
  bool has_died(int process) const;

  std::vector<int> first_;  // [processes + 1] ranks
  int process_ = 0;
  std::string name_;
  bool named_ = false;
  std::size_t bytes_ = 0, seats_at_ = 0, pipes_at_ = 0, pipe_bytes_ = 0;
  char* memory_ = nullptr;
  Segment* segment_ = nullptr;
  std::atomic<i64> looked_at_{0};  // milliseconds
};

}  // namespace sordino
