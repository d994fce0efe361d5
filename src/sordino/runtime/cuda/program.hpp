// A compiled recording: replayed as a CUDA graph of a chunk of iterations, or launch by launch.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <queue>

#include "sordino/runtime/awaited.hpp"
#include "sordino/runtime/cuda/callers.hpp"
#include "sordino/runtime/cuda/device_tasks.hpp"
#include "sordino/runtime/cuda/mark.hpp"
#include "sordino/runtime/cuda/streams.hpp"
#include "sordino/runtime/cuda/tally.hpp"
#include "sordino/runtime/patience.hpp"

namespace sordino::cuda {

class CudaProgram final : public Program {
 public:
  CudaProgram(std::shared_ptr<State> state, Rank& rank, const Recording& recording, const std::vector<int>& vector_map,
              const std::vector<int>& scalar_map);
  ~CudaProgram() override;

  void prepare() override;
  void start(int max) override;
  Advance advance() override;
  Outcome wait() override;

 private:
  /// What is put into the stream at a time, to be looked at by its end: a chunk of iterations, many of them in a WHILE graph,
  /// or the launches up to a host task.
  struct Chunk {
    int first, last;  // its iterations, from the first to the one before the last
    u32 mark;         // its number; in a WHILE graph, that of the chunk before its first
  };
  static constexpr int repeated_chunks = 64;  // that a WHILE graph runs before the host takes their history

  // issuing (issue.cpp)
  void issue_iterations(int first, int last);
  void issue(const Launch& launch, int iteration, bool followed);
  void issue_task(const Launch& launch, int iteration);
  void issue_mark(u32 first_test, int iterations);
  void follow_peers(const Launch& launch, int turn);
  void signal_peers(const Launch& launch, int turn);
  Args told(const Launch& launch, int iteration);
  CollectArgs collected(const Launch& launch, const Args& a) const;
  void build_graph();
  cudaGraph_t capture_chunk(cudaGraph_t body);
  cudaGraph_t capture_repeated_chunk();
  void allocate_history(i64 tests_in_a_chunk);

  // a kernel that stays (steps.cpp)
  /// A command in an iteration of a chunk.
  struct StepPlace {
    const Launch* launch;
    int iteration;
  };
  std::vector<StepPlace> places_of_chunk() const;
  bool blocks_may_add(const std::vector<StepPlace>& places, std::size_t finisher) const;
  void make_steps();
  void launch_resident();

  // over NCCL (exchange.cpp)
  /// Messages that may be under way, and what is to come with them.
  struct Exchanged {
    const Parcel* parcel = nullptr;
    int command = 0, iteration = 0;
    u32 mark = 0;  // of their chunk
    std::array<u32, most_puts> rows{};
    u32 sums = 0;  // epochs
  };
  void exchange(const Parcel& parcel, int command, int iteration);
  void take_arrivals(const Exchanged& messages);
  void watch_exchange(double calm);
  std::optional<Awaited> missing(const Exchanged& messages) const;
  u32 look_at(const void* word) const;
  u32 epoch_now(const EpochRef& e) const;

  // between host tasks (segments.cpp)
  const Launch* next_launch();
  Chunk issue_segment();
  bool run_next_host_task();
  std::vector<RowRange> own_rows(int vector) const;
  void call_host_task(Body& task, const Command& c, int iteration, const std::vector<int>& map);
  void run_host_task(const Launch& launch, int iteration);

  // timing (timing.cpp)
  class DeviceClock {
   public:
    void compare(u64 device, double host);  // both at the same time, or the host a little later
    double seconds(u64 device) const;       // on the host's clock

   private:
    u64 device_ = 0;
    double host_ = 0;
  };
  /// When what is under way was sent; nanoseconds of the device.
  struct Flights {
    std::map<int, std::queue<u64>> sums;  // by slot
    std::map<int, u64> rows;              // by physical vector
  };
  void make_stamps();
  void free_stamps();
  void clear_stamps();
  void book_stamps(int iterations);
  void book_computing(const Command& c, const Stamp& stamp);
  void book_communication(const Command& c, int turn, const Stamp& stamp, Flights& flights);
  void add_span(const Command& c, SpanKind kind, const std::string& name, u64 from, u64 until);

  // replaying (replay.cpp)
  bool on_device() const { return as_graph_ && repeats_; }
  bool may_be_graph() const;
  int wanted_iterations() const;
  void begin_replay();
  void send_settings();
  void issue_ahead();
  Chunk issue_chunk();
  Chunk launch_repeated();
  void inject_before(int first, int last) const;
  u32 ended_on_device() const;
  bool has_arrived() const;
  void await();
  void look();
  void tell_stop();
  void take();
  const Window::Report& checked_report(u32 mark);
  bool has_exited(const Control& c, Outcome& outcome);
  void take_history(i64 until);
  void book(const Outcome& outcome, const Window::Report& report);

  // failing (program.cpp)
  [[noreturn]] void fail(const FaultRecord& cause);
  void complain(int command, int iteration, const Awaited& awaited);
  Awaited awaited(const FaultRecord& cause) const;
  std::string under_way() const;

  std::shared_ptr<State> keep_;
  State& state_;
  Rank& rank_;
  RankState& mine_;
  const Recording& rec_;
  Tally tally_;
  Plan plan_;
  DeviceTasks tasks_;
  Streams streams_;
  Copies copies_;
  i32 scalars_;           // of the rank: those made later it neither computes nor reports
  int chunk_ = 1;         // iterations
  bool chains_ = false;   // launches may begin while the one before them ends
  bool repeats_ = false;  // the graph repeats its chunk on the device
  cudaGraphConditionalHandle again_ = 0;
  // the replay under way, or the last one
  int max_ = 0;
  bool as_graph_ = false, over_ = true;
  std::deque<Chunk> ahead_;      // issued, and not yet taken
  int issued_ = 0;               // iterations
  std::size_t next_launch_ = 0;  // of the next one, between host tasks
  Outcome outcome_;
  double asked_ = 0;  // seconds: when the host last asked whether all live
  Patience patience_;
  std::vector<u32> offsets_;  // of epochs, while launches are issued
  u32 tests_issued_ = 0;
  std::optional<CollectArgs> handed_on_;   // by the launch issued last, to the next one
  int looked_for_ = 0, looked_until_ = 0;  // iterations whose end the host waits for, the last one not among them
  i64 tests_taken_ = 0;
  double *history_ = nullptr, *history_copy_ = nullptr;  // rings: on the device, and pinned
  u32 history_mask_ = 0;
  std::deque<Exchanged> exchanged_;
  u32* increments_ = nullptr;  // what a chunk adds to the epochs
  void* steps_ = nullptr;      // of a chunk, if a kernel stays for it
  i32 resident_steps_ = 0;
  cudaGraphExec_t graph_ = nullptr;
  // timing: none if these are null
  Stamp *stamps_ = nullptr, *stamps_copy_ = nullptr;  // [n_stamps_]: on the device, and pinned
  i32 n_stamps_ = 0;
  DeviceClock clock_;
};

}  // namespace sordino::cuda
