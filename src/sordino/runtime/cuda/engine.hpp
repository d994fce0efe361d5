// The cuda engine: one GPU and one host thread per rank, in one process or in several of one host. A recorded loop becomes a
// CUDA graph of a chunk of iterations; ranks push reductions and halos into each other's memory and raise epoch flags there,
// and no host takes part. Memory of other processes is mapped (CUDA IPC): kernels see no difference. Nor do they where memory
// cannot be reached, between GPUs without peer access or between hosts: there a courier carries what is sent through host
// memory, and over MPI (runtime/cuda/courier.hpp). If NCCL is asked for, it carries all of it, launch by launch
// (runtime/cuda/exchange.cpp); if NVSHMEM is, others write to its memory only, and it brings what devices cannot store
// (runtime/cuda/nvshmem_links.cpp).
//
// Ranks of a process that share a GPU never wait for each other on it: there the host threads order them by stream events.
// Where several processes work together, every rank has a GPU of its own.
// Commands of several queues run beside each other, on streams of their own, where they talk to nobody
// (runtime/cuda/streams.hpp).
//
// This header knows no CUDA. A functor runs here once a .cu file has called enable() for it (runtime/cuda/enable.cuh).
#pragma once
#include "sordino/runtime/engine.hpp"
#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino::cuda {

struct State;

enum class Sharing {
  automatic,  // where there are more ranks than devices
  always,     // tests, sanitizers, profilers that run one kernel at a time
  never,      // tests: small grids of several ranks, or several processes, beside each other on one GPU
};

/// The way of what ranks send each other.
enum class Links {
  automatic,  // straight into the other's memory where the device reaches it, else through host memory
  memory,     // straight, or it is an error
  host,       // always through host memory
  nccl,       // NCCL's messages, between launches; every rank needs a GPU of its own
  nvshmem,    // into NVSHMEM's memory, which the device stores into where it reaches it, else NVSHMEM; one rank a process
};

/// The way of recorded sums over all ranks.
enum class Sums {
  pushed,   // everybody's parts to everybody, as Links says
  by_host,  // as Engine::summing() says, which must be set: a courier hands it each rank's part, and brings the result
  by_nccl,  // ncclAllReduce; with Links::nccl. The bits are those of `pushed`
};

/// The way of rows that go over MPI.
enum class Staging {
  automatic,  // from GPU to GPU where MPI says that it takes their memory, else staged
  always,     // through host memory on both sides
  never,      // from GPU to GPU, whatever MPI says: some libraries cannot be asked
};

/// How a loop of commands reaches the device. Measured on H200 (bench/records): a chunk of iterations in a plain graph is the
/// fastest, and the host only looks at the run between chunks.
enum class Looping {
  automatic,    // chunks in graphs, where a graph pays
  launches,     // command by command
  graph,        // a graph of a chunk of iterations, launched again and again
  while_graph,  // one graph whose chunk repeats until the loop ends on the device: the host launches once
  resident,     // as `graph`, but one kernel stays for the chunk, where one was enabled for its commands; else `graph`
};

/// For tests: a fault in one rank, on its device in one iteration of a command, or in its host thread.
struct Injection {
  int rank = -1;
  std::string command;
  int iteration = 0;
  bool mute = false;  // nothing is sent, through NCCL from then on: a stuck rank, as others see it
  double delay = 0;   // seconds
  bool trap = false;  // the kernel fails: this process loses the device
  /// Called by the rank's host thread before it issues the iterations from `first` to the one before `last`, in any replay. It
  /// may throw.
  std::function<void(Rank&, int first, int last)> before = {};
};

/// How thread blocks share a command's rows where some of them send, or wait (runtime/cuda/dealing.hpp).
struct Dealing {
  double aside = 1;              // rows less for those, as a multiple of what is thought to be right; 0: all get the same
  double in_flight = 192 << 10;  // bytes; as many blocks send as have about so many on their way at once
};

struct Options {
  int ranks = 0;               // of this process; 0: one a device
  std::vector<int> devices;    // empty: all there are. Enough for the ranks of all processes: each takes its share by position
  double timeout = 60;         // seconds without any progress before a wait gives up; <= 0: never
  int chunk = 0;               // iterations a graph, about; the host looks in between. 0: 20, or fewer of many commands
  bool deterministic = false;  // sums as on the CPU engines: their bits, on any number of ranks
  bool time_commands = false;  // the first of each replay note when they do what
  Sharing sharing = Sharing::automatic;
  Links links = Links::automatic;
  Staging staging = Staging::automatic;
  Sums sums = Sums::pushed;  // else no deterministic ones, and every rank needs a GPU of its own
  std::string nccl;          // a libnccl.so.2; empty: what the loader finds as that
  std::string nvshmem;       // a libnvshmem_host.so.3; empty: SORDINO_NVSHMEM, or what the loader finds as that
  /// Bytes of NVSHMEM's memory for vectors that others write to, the same in all processes: the first one's word counts.
  /// 0: SORDINO_NVSHMEM_ARENA, in MiB, or a sixteenth of the device's memory.
  u64 arena = 0;
  Looping looping = Looping::automatic;  // ranks that share a device, or use NCCL, take launches, whatever is asked
  int most_blocks = 0;                   // > 0: no grid is larger
  bool chain = true;                     // a command's blocks take their places while the one before it ends
  Dealing dealing;
  bool hand_on = true;   // sums are collected by the next command, where that needs none of them (runtime/cuda/collecting.hpp)
  u32 first_epoch = 0;   // for tests near the wrap-around
  bool all_far = false;  // for tests: as if no device reached another's memory, whatever it can
  bool late_sums = false;  // for measurements: sums over ranks can be made late (delay_sums()). Only those that are pushed, in
                           // no fixed order
  Injection inject;
};

/// What a rank has asked of the CUDA runtime since the engine was built.
struct Counters {
  i64 replays = 0;
  i64 chunks = 0;            // graph launches, or stretches of single launches
  i64 stayed = 0;            // those of them for which one kernel stays
  i64 calls_in_replays = 0;  // all calls made by replays, waiting not counted
  i64 single_calls = 0;      // those of them that launched commands one by one
  i64 allocations = 0;       // of device or pinned memory, graphs, events
};

class CudaEngine final : public Engine {
 public:
  /// Throws `unsupported` with one sentence if this machine cannot do what is asked.
  explicit CudaEngine(const Options& options);
  /// The ranks of several processes, which all build the same engine; `hall` says how many ranks each has. What one of them
  /// cannot do is thrown in all. Destroyed in all of them, too: for that they wait for each other, some seconds at most.
  /// `transport` carries what cannot go through memory; without one, all are on one host and map each other's memory.
  CudaEngine(const Options& options, std::unique_ptr<Hall> hall, std::unique_ptr<Transport> transport = nullptr);
  ~CudaEngine() override;

  const char* name() const override { return "cuda"; }
  int size() const override;
  int first_rank() const override;
  int local_ranks() const override;
  void run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise = {}) override;
  Rank& rank(int local) override;
  bool has_lost_a_rank() const override;
  bool is_device() const override { return true; }
  bool shares_devices() const;
  int gpu() const;  // CUDA's number of the first local rank's
  /// So many bytes of vectors are to follow on the rank, and are taken with the first one. Not where other processes map them.
  void expect_vectors(Rank& rank, i64 bytes);
  Carrier carrier(int from, int to) const override;
  Machine described() const override;
  RankRange node_of(int rank) const override;  // the ranks of its process
  Transport* transport() override;
  void sum_by(std::unique_ptr<Summing> way) override;
  Counters counters(int rank) const;  // a rank of this process
  /// What the rank does from now on comes after all that is in the caller's stream, a cudaStream_t on the rank's device.
  /// (Replays have ended when they return, or their wait() does: nothing needs to wait for them.) Other ranks wait for nobody's
  /// stream: what the caller still writes must not be ghosts. Returns at once.
  void follow(Rank& rank, void* stream);
  /// From now on ranks of this process take sums over ranks so many seconds, at most one, after they have started them, or
  /// later. Between replays, of an engine built with `late_sums`, for reductions that were added before.
  void delay_sums(double seconds);

  void allocate(Rank& rank, int vector) override;
  void add_reduction(Rank& rank, int slot) override;
  void barrier(Rank& rank) override;
  void look(Rank& rank) override;
  std::unique_ptr<Program> compile(Rank&, const Recording&, const std::vector<int>&, const std::vector<int>&) override;
  void write(Rank& rank, int physical, const double* host, i64 count) override;
  void read(Rank& rank, int physical, double* host, i64 count) override;
  void set_scalar(Rank& rank, int physical, double value) override;
  double get_scalar(Rank& rank, int physical) override;
  double now(Rank& rank) override;
  void* allocate_bytes(Rank& rank, std::size_t bytes) override;
  void release_bytes(Rank& rank, void* pointer, std::size_t bytes) override;
  void upload(Rank& rank, void* to, const void* from, std::size_t bytes) override;
  void upload_made(Rank& rank, void* to, const MadeArray& array, int threads) override;
  i64 bytes_held(int local_rank) const override;
  i64 device_allocations(int local_rank) const override;
  double* pinned_twin(Rank& rank, int vector) override;
  void start_copy(Rank& rank, const TwinCopy& copy) override;
  bool has_copied(Rank& rank, const TwinCopy& copy) override;
  void wait_for_copy(Rank& rank, const TwinCopy& copy) override;
  RowPort& row_port() override;
  void post(Rank& from, int to, i64 tag, std::vector<std::byte> data) override;
  std::vector<std::byte> take(Rank& at, int from, i64 tag) override;
  std::optional<Letter> try_take(Rank& at, int from, i64 tag) override;
  void wait_for_mail(Rank& at, const std::function<bool()>& ready, const std::function<std::string()>& what) override;

 private:
  friend struct State;
  std::shared_ptr<State> state_;  // compiled recordings may outlive the engine
};

}  // namespace sordino::cuda
