// The host engine: one thread per rank, ranks push into each other's memory and raise epoch flags; ranks of other processes are
// reached through a Transport.
#pragma once
#include <map>
#include <mutex>
#include <optional>

#include "sordino/runtime/awaited.hpp"
#include "sordino/runtime/engine.hpp"
#include "sordino/runtime/fault.hpp"
#include "sordino/runtime/host/bell.hpp"
#include "sordino/runtime/rank.hpp"
#include "sordino/runtime/row_port.hpp"
#include "sordino/runtime/storage.hpp"
#include "sordino/runtime/threads.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino::host {

struct Options {
  int ranks = 1;        // of this process
  double timeout = 60;  // seconds without any progress before a wait gives up; <= 0: never
  bool time_commands = false;
  u32 first_epoch = 0;  // for tests near the wrap-around
  /// Host data goes on by a thread of the engine's own, and not only while its rank waits or begins a command. Hides more
  /// behind long commands and code without any; takes part of a core, and some microseconds where nothing is hidden.
  bool progress_thread = false;
};

/// Written by a peer: epoch << 1 | stop request. One writer each.
struct alignas(64) Flag {
  std::atomic<u32> word{0};
};
inline u32 flag_word(u32 epoch, bool stop) { return epoch << 1 | u32(stop); }
inline bool is_epoch(u32 word, u32 epoch) { return word >> 1 == (epoch & 0x7fffffffu); }

/// Where one rank collects a reduction: two epochs, block sums of all ranks, one flag a rank.
struct Gather {
  std::vector<double> sums[2];    // [blocks][K]
  std::unique_ptr<Flag[]> flags;  // [2][ranks]
  double started[2] = {};         // when its owner started it, while a trace is kept: seconds
};

/// One rank's memory, as its peers in this process see it. Peers read entries while the owner appends others, so the tables
/// never move: their capacity is fixed.
struct Memory {
  static constexpr std::size_t most_names = 4096;
  Memory() {
    vectors.reserve(most_names);
    arrivals.reserve(most_names);
    gathers.reserve(most_names);
  }
  std::vector<Storage> vectors;                   // [physical]
  std::vector<std::unique_ptr<Flag[]>> arrivals;  // [physical][peer]
  std::vector<u32> sent;                          // [physical] the word of my last put; only its owner reads it
  std::vector<double> sent_at;                    // [physical] when, while a trace is kept: seconds
  std::vector<std::unique_ptr<Gather>> gathers;   // [slot]
  i64 bytes = 0;
  Bell bell;
  std::mutex mail_mutex;
  Mailbox mail;
  std::atomic<u64> letters{0};  // that have come
  alignas(64) std::atomic<u64> heartbeat{0};
  std::atomic<bool> waiting{false};
};

class HostProgram;
class HostRows;
class Helper;

class HostEngine final : public Engine {
 public:
  explicit HostEngine(const Options& options, std::unique_ptr<Transport> transport = nullptr);
  ~HostEngine() override;

  const char* name() const override { return "host"; }
  Carrier carrier(int, int to) const override { return is_local(to) ? Carrier::threads : Carrier::mpi; }
  int size() const override { return size_; }
  int first_rank() const override { return first_; }
  Machine described() const override;
  int local_ranks() const override { return options_.ranks; }
  void run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise = {}) override;
  Rank& rank(int local) override { return *ranks_[local]; }
  bool has_lost_a_rank() const override { return team_->stuck(); }

  void allocate(Rank& rank, int vector) override;
  void add_reduction(Rank& rank, int slot) override;
  void barrier(Rank& rank) override;
  std::unique_ptr<Program> compile(Rank&, const Recording&, const std::vector<int>&, const std::vector<int>&) override;
  void write(Rank& rank, int physical, const double* host, i64 count) override;
  void read(Rank& rank, int physical, double* host, i64 count) override;
  void set_scalar(Rank& rank, int physical, double value) override;
  double get_scalar(Rank& rank, int physical) override;
  double now(Rank& rank) override;
  void* allocate_bytes(Rank& rank, std::size_t bytes) override;
  void release_bytes(Rank& rank, void* pointer, std::size_t bytes) override;
  void upload(Rank& rank, void* to, const void* from, std::size_t bytes) override;
  i64 bytes_held(int local_rank) const override { return memory_[local_rank].bytes; }
  RowPort& row_port() override;
  void post(Rank& from, int to, i64 tag, std::vector<std::byte> data) override;
  std::vector<std::byte> take(Rank& at, int from, i64 tag) override;
  void look(Rank&) override;
  std::optional<Letter> try_take(Rank& at, int from, i64 tag) override;
  void wait_for_mail(Rank& at, const std::function<bool()>& ready, const std::function<std::string()>& what) override;
  RankRange node_of(int rank) const override;
  Transport* transport() override { return transport_.get(); }

  Probe probe;  // tests
  /// For tests: asked before each put and start; true: its signals to other ranks are lost.
  std::function<bool(Rank&, const Command&, Op, int iteration)> loses;

 private:
  friend class HostProgram;
  friend class HostRows;
  friend class Helper;
  bool is_local(int rank) const { return rank >= first_ && rank < first_ + options_.ranks; }
  Memory& memory(int rank) { return memory_[rank - first_]; }
  int process_of(int rank) const;
  void signal(Flag& flag, u32 word, int rank) {
    flag.word.store(word, std::memory_order_release);
    memory(rank).bell.ring();
  }
  void send(const Message& header, const void* data, std::size_t bytes);
  int poll();  // how many messages have come
  void deliver(const Message& m, const std::byte* data, std::size_t bytes);
  void put_into_mail(int to, i64 tag, Letter letter);
  void attend(Rank& rank) {
    if (Attendant* a = attendant(rank.id() - first_)) a->advance();
  }
  /// Spins, then sleeps, until ready(). Returns the seconds it took. Throws on a fault or when nobody makes progress for
  /// what().
  template <class Ready, class What>
  double wait(Rank& rank, const Ready& ready, const What& what);
  [[noreturn]] void patience_lost(Rank& rank, const Awaited& awaited);
  u64 all_heartbeats() const;
  u64 own_heartbeats() const;
  void tell_of_progress();
  void raise(const Error& error);
  [[noreturn]] void report_fault(const std::exception_ptr& supervisor_failed = nullptr);
  void end_together(const std::function<void()>& tick);
  void tell_all(const Message& m, const std::string& text = "");
  void tell_of_fault();
  void hear_of_fault(const Message& m, const Error& error);
  bool settle_cause();
  [[noreturn]] void fail_as_peers();

  Options options_;
  std::unique_ptr<Transport> transport_;
  int size_, first_;
  int spins_;
  std::mutex mutex_;  // growth of memory_'s tables
  std::vector<Memory> memory_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  Fault fault_;
  std::unique_ptr<ThreadTeam> team_;
  std::unique_ptr<RowPort> rows_;
  std::unique_ptr<Helper> helper_;  // if there is a progress thread
  struct {
    std::mutex mutex;
    int inside = 0;
    u64 round = 0;
    std::map<u32, int> others;  // processes whose ranks have all entered the round
  } barrier_;
  struct {
    u64 beats = 0;
    double at = 0;  // seconds
  } told_;          // what other processes know of this one's heartbeats
  struct Neighbour {
    i64 ended = 0;    // runs
    double seen = 0;  // a sign of life: seconds
  };
  std::map<int, Neighbour> others_;         // [first rank of another process]; under mutex_
  std::map<int, Fault::Statement> heard_;   // [first rank of another process] what it says of the fault; under mutex_
  std::optional<Fault::Statement> agreed_;  // the cause that this process reports, or has heard that another does; likewise
  std::atomic<bool> told_fault_{false};     // to all other processes
  double settles_since_ = 0;                // seconds; the caller's thread alone
  i64 runs_ = 0;
  bool reported_ = false;         // to who called run()
  std::atomic<u64> arrivals_{0};  // messages delivered: progress of remote ranks
};

}  // namespace sordino::host
