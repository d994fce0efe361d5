// Where the ranks of one host meet, whichever of its processes they belong to: a segment of shared memory with their signs of
// life, two barriers, the first cause of a failure, who complains of what, a directory of memory that others may write to, and
// the pipes of their mail (hall_mail.hpp). Ranks of one process alone have a hall of their own, which nobody else can enter.
// Where there are several hosts each has a hall, with seats for all ranks, and a bridge (bridge.hpp) tells in one what happens
// in the others.
//
// Knows no device and no MPI. Nothing here waits for long, but meet() and, over several hosts, raise(), which are bounded.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  u32 inside() const { return inside_.load(std::memory_order_acquire); }

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
/// By which the processes find each other in a library's communicator, and what they are to take of its memory.
struct Invitation {
  std::array<char, 128> id{};
  i64 arena = 0;  // its number
  u64 bytes = 0;  // of a new one
  bool operator==(const Invitation&) const = default;
};

/// The ranks of every process, and the host that each is on: hosts count from 0, in the order of their first processes.
struct Guests {
  Guests(std::initializer_list<int> ranks_of_one_host) : ranks(ranks_of_one_host) {}
  Guests(std::vector<int> ranks, std::vector<int> hosts = {}) : ranks(std::move(ranks)), hosts(std::move(hosts)) {}
  std::vector<int> ranks;
  std::vector<int> hosts;  // empty: all are on one
};

class Hall {
 public:
  static constexpr int most_processes = 32, most_blocks = 1024, most_names = 4096;

  /// For ranks of this process alone.
  explicit Hall(int ranks);
  /// The first process of a host makes the hall; its others enter by its name, which somebody tells them. When all are in, the
  /// first removes the name: then the segment goes with its last process. Both throw Error with one sentence.
  static std::unique_ptr<Hall> make(const Guests& guests, int process = 0);
  static std::unique_ptr<Hall> enter(const std::string& name, const Guests& guests, int process);
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
  int hosts() const { return hosts_; }
  int host() const { return host_of_[process_]; }
  int host_of(int process) const { return host_of_[process]; }
  bool is_near(int rank) const { return host_of_[process_of(rank)] == host(); }  // on this host
  int leader(int host) const;                                                    // its first process
  int near_ranks() const { return near_ranks_; }
  int near_processes() const { return near_processes_; }

  // --- signs of life ----------------------------------------------------------------------------------------------------
  Pulse& pulse();
  u64 heartbeats() const;  // of all ranks
  void set_waiting(int rank, bool waiting);
  bool is_waiting(int rank) const;

  // --- barriers ---------------------------------------------------------------------------------------------------------
  /// Of the ranks, or of the processes, of this host, and the bridge if there are other hosts.
  Gate& gate_of_ranks();
  Gate& gate_of_processes();
  u32 enter_ranks() { return gate_of_ranks().enter(u32(near_ranks_ + bridged())); }
  /// One thread of each process. Returns when all are here or somebody has failed; raises a failure when a process is lost, or
  /// after so many seconds (<= 0: never).
  void meet(double seconds);

  // --- failing ----------------------------------------------------------------------------------------------------------
  bool raised() const;
  /// Keeps the first cause, and says in pulse() that waiting makes no sense any more. Returns whether this was the first. Over
  /// several hosts the cause is proposed, and the bridge brings the decision: then this waits for it, a second at most.
  bool raise(const Error& error);
  /// As raise(), for a thread that the bridge needs: does not wait.
  bool propose(const Error& error);
  bool has_proposal() const;  // that is not decided
  Error proposal() const;
  /// The cause, as agreed by all hosts; the first one counts.
  void decide(const Error& error);
  Error error() const;        // its sentence and the name of its command as far as there is room
  std::string cause() const;  // its sentence; empty: none
  Errc code() const;
  /// A rank that lost patience says where, once; what was awaited first in the program is nearest to the cause.
  void complain(int rank, int iteration, int command, const std::string& text, const Cause& cause = {});
  int complaints() const;
  Error first_complaint() const;
  struct Complaint {
    i32 rank = 0, iteration = 0, command = 0;
    std::string text;
    Cause cause;
  };
  std::optional<Complaint> complaint_of(int rank) const;

  // --- processes --------------------------------------------------------------------------------------------------------
  /// Another process that has died, or has left although this one runs; -1: none. Looks, at most once a millisecond.
  int find_lost();
  std::string obituary(int process) const;  // a sentence on a lost one
  void set_busy(bool busy);                 // inside a run; ends are counted
  /// Every other process of this host has ended as many runs as this one, or is gone.
  bool neighbours_have_ended() const;
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
  void invite(const Invitation& invitation);
  Invitation invitation() const;
  void publish(int rank, int block, const BlockHandle& handle);
  BlockHandle block(int rank, int block) const;
  void publish(int rank, Published what, int index, const BlockPlace& place);
  std::optional<BlockPlace> find_place(int rank, Published what, int index) const;
  BlockPlace place(int rank, Published what, int index) const;  // throws if it was never published

  /// Not all processes of this host can map each other's memory: said before a barrier, heard behind it.
  void refuse_mapping();
  bool maps() const;

  Pipe& pipe(int from, int to);
  std::size_t pipe_bytes() const { return pipe_bytes_; }  // a power of two

 private:
  struct Segment;
  struct Member;
  struct Seat;
  Hall(const Guests& guests, int process);
  int bridged() const { return hosts_ > 1; }
  bool keep_cause(const Error& error, u32 state);
  void map(int file);
  void sit_down();
  Seat& seat(int rank) const;
  bool is_gone(int process) const;
  bool has_died(int process) const;

  std::vector<int> first_;    // [processes + 1] ranks
  std::vector<int> host_of_;  // [processes]
  int process_ = 0, hosts_ = 1, near_ranks_ = 0, near_processes_ = 0;
  std::string name_;
  bool named_ = false;
  std::size_t bytes_ = 0, seats_at_ = 0, pipes_at_ = 0, pipe_bytes_ = 0;
  char* memory_ = nullptr;
  Segment* segment_ = nullptr;
  std::atomic<i64> looked_at_{0};  // milliseconds
};

}  // namespace sordino
