// The model engine: the same recordings on a described machine. One thread plays all ranks; what takes time takes virtual time.
//
// A rank's program runs on a fiber between recordings. A recording is replayed by actors, one for each queue, that interpret
// phases without a stack. Actors and programs take turns in the order of the virtual clock (so an overwritten ghost is found
// when it would happen), or, with a seed, in any order that dependences allow (so it is found if it could happen).
//
// Time. A command takes launch_s, then its task groups, each max(bytes / bandwidth, flop / flops) of its share of the rows.
// Who starts a reduction first takes reduction_start_s, on one rank, too; that nothing hides, for it is the device's own work.
// Queues of a rank that compute at the same time share the device evenly, at most `workers` of them; under an adversary, whose
// clock is not in order, each computes as if alone. A rank's messages leave one after the other. A barrier between recordings
// brings clocks together and costs nothing. Host data keeps its sender's program busy, and is looked after when it comes: by a
// program that waits, or beside a recording; while a host task of the recording lasts, only what goes by the network adapter
// is. Where a machine's commands have a spread, or its processors are interrupted, task groups take longer; sums that are under
// way do not, so a sum waits for a rank that is late, and for none in between.
//
// Waits are booked against what the wait would have been if all ranks had started the reduction, or sent the rows, when this
// one did: that part is exposed, the rest is imbalance. A reduction's exposed and hidden time add up to its latency.
#pragma once
#include <chrono>

#include "sordino/runtime/engine.hpp"
#include "sordino/runtime/fault.hpp"
#include "sordino/runtime/machine.hpp"
#include "sordino/runtime/model/place.hpp"
#include "sordino/runtime/row_port.hpp"

namespace sordino::model {

struct Options {
  Machine machine;
  int ranks = 1;
  u64 seed = 0;  // 0: in the order of time; else an adversary picks who acts next
  bool arithmetic = true;
  int exit_at = 0;      // if arithmetic is skipped: every exit test says `met` in this iteration (counted from 1); 0: never
  u32 first_epoch = 0;  // for tests near the wrap-around
  std::size_t stack_bytes = 256 << 10;  // of a rank's program
};

class ModelEngine final : public Engine {
 public:
  explicit ModelEngine(const Options& options);
  ~ModelEngine() override;

  const char* name() const override { return "model"; }
  Carrier carrier(int, int) const override { return Carrier::network; }
  int size() const override { return options_.ranks; }
  bool arithmetic() const override { return options_.arithmetic; }
  Machine described() const override { return options_.machine; }
  void sum_by(std::unique_ptr<Summing> way) override;
  void run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise = {}) override;
  Rank& rank(int local) override { return places_[local]->rank; }

  void allocate(Rank& rank, int vector) override;
  void add_reduction(Rank& rank, int slot) override;
  void barrier(Rank& rank) override;
  std::unique_ptr<Program> compile(Rank&, const Recording&, const std::vector<int>&, const std::vector<int>&) override;
  void write(Rank& rank, int physical, const double* host, i64 count) override;
  void read(Rank& rank, int physical, double* host, i64 count) override;
  void set_scalar(Rank& rank, int physical, double value) override;
  double get_scalar(Rank& rank, int physical) override;
  double now(Rank& rank) override { return place(rank).clock; }
  void* allocate_bytes(Rank& rank, std::size_t bytes) override;
  void release_bytes(Rank& rank, void* pointer, std::size_t bytes) override;
  void upload(Rank& rank, void* to, const void* from, std::size_t bytes) override;
  i64 bytes_held(int local_rank) const override { return places_[local_rank]->bytes; }
  RowPort& row_port() override;
  void post(Rank& from, int to, i64 tag, std::vector<std::byte> data) override;
  std::vector<std::byte> take(Rank& at, int from, i64 tag) override;
  std::optional<Letter> try_take(Rank& at, int from, i64 tag) override;
  void wait_for_mail(Rank& at, const std::function<bool()>& ready, const std::function<std::string()>& what) override;
  void post_by_adapter(Rank& from, int to, i64 tag, std::vector<std::byte> data) override;
  RankRange node_of(int rank) const override;
  void book_leading(Rank& rank, int others) override;

  u64 events() const { return events_; }  // parties that have acted so far

  Probe probe;  // tests; must return

 private:
  friend class ModelProgram;
  friend class ModelRows;
  Place& place(const Rank& rank) { return *places_[rank.id()]; }
  void program_of(Place& place, const std::function<void(Rank&)>& job);
  void act(const Event& event);
  void look_up(const std::function<void()>& supervise);
  void wake_queue(Who queue, double time);
  void wake_program(Place& place, double time) {
    place.woken = true;
    agenda_.add(who(place.rank.id(), program_lane), time);
  }
  void go_on(Place& place);
  void start(Place& place, ModelProgram& program, int max);
  bool test(Place& place);
  Outcome wait(Place& place);
  void let_host_tasks_run(Place& place);
  void attend(Place& place);
  void attend_offloaded(Place& place);
  void leave_host_task(Place& place);
  void put_in_transit(int from, int to, i64 tag, std::vector<std::byte> data, double at);
  void deliver_letter(Place& place);
  void block(Place& place);
  void align_clocks();
  void wind_up();
  Error nobody_can_go_on(const std::string& beginning) const;
  /// From a rank's start of a reduction to its result, if all ranks start it at once: seconds.
  double reduction_latency(int rank) const {
    if (size() == 1) return 0;
    return latencies_.empty() ? options_.machine.reduction(size()) : latencies_[std::size_t(rank)];
  }
  /// When a rank has the result of a reduction that all have started.
  double result_at(const Epoch& e, int rank) const {
    return latencies_.empty() ? e.last + reduction_latency(rank) : e.ends[std::size_t(rank)];
  }
  /// Books a message of `bytes` that leaves `from` at `time` or later; returns when it arrives.
  double deliver_at(Place& from, int to, double bytes, double time);

  Options options_;
  std::unique_ptr<RowPort> rows_;
  Stacks stacks_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<Collective> collectives_;  // [slot]
  std::vector<double> latencies_;        // [rank] of a reduction that goes another way, if all ranks start it at once
  Agenda agenda_;
  Fault fault_;
  bool running_ = false, winding_up_ = false;
  int ended_ = 0;
  u64 events_ = 0;
  int idle_tests_ = 0;  // of replays, in a row, while nobody else acted
  std::chrono::steady_clock::time_point looked_up_;
  std::exception_ptr supervisor_failed_;
  int inside_barrier_ = 0;
  u64 barriers_ = 0;  // that all ranks have passed
};

}  // namespace sordino::model
