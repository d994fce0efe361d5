// A team: devices whose kernels talk to each other directly, of this process or of several on one host. This is the host's
// side, for authors of kernels: it gives each rank a window that all others reach, runs a host thread a rank, and says what
// went wrong. The device's side is team.cuh; docs/device_primitives.md shows both.
//
// Windows are made, and arrays in them, before and between runs, never while kernels may wait: CUDA calls that allocate or
// synchronize a device could wait for those, forever.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sordino/runtime/cuda/device_team.hpp"

namespace sordino {
class Hall;
}

namespace sordino::cuda {

struct TeamOptions {
  int ranks = 0;                  // 0: one a device. With a hall: what that says
  std::vector<int> devices = {};  // empty: all there are. With fewer than ranks, some share one: see team.cuh
  std::size_t window = 16 << 20;  // bytes of each rank's window
  double timeout = 10;            // seconds that a wait on a device may take; <= 0: forever
  double longest = 300;           // seconds that a rank's work may take before its device, or process, counts as lost
  u32 first_epoch = 0;            // for tests near the wrap-around
};

/// How a kernel is launched.
struct Grid {
  int blocks = 1, threads = block_threads;
  bool resident = false;  // all blocks are on the device at once (a cooperative launch), or it is an error: for grid_barrier
  bool chained = false;   // may begin while the kernel before it ends; it then calls wait_for_previous_command()
  int shared = 0;         // bytes of dynamic shared memory of a block, for which the kernel was loaded
};

struct TeamState;

/// A rank, as its host thread sees it.
class TeamRank {
 public:
  TeamRank(TeamState& state, int id) : state_(state), id_(id) {}

  int id() const { return id_; }  // of all processes' ranks
  int size() const;               // how many those are
  int device() const;
  cudaStream_t stream() const;
  const DeviceTeam& team() const;  // what kernels of this rank are given

  /// Loads a kernel on this rank's device. To be done for every kernel that waits for others, before a barrier(): loading one
  /// at its first launch may wait for what runs. `shared`: the most dynamic shared memory that a block will have.
  void load(const void* kernel, int shared = 0);
  template <class... P>
  void load(void (*kernel)(P...), int shared = 0) {
    load(reinterpret_cast<const void*>(kernel), shared);
  }
  /// Launches on this rank's stream; does not wait. Arguments are converted to the kernel's parameters.
  template <class... P, class... A>
  void launch(const Grid& grid, void (*kernel)(P...), A&&... arguments) {
    std::tuple<P...> values(std::forward<A>(arguments)...);
    std::apply(
        [&](P&... v) {
          void* pointers[] = {const_cast<void*>(static_cast<const void*>(&v))..., nullptr};
          launch(grid, reinterpret_cast<const void*>(kernel), pointers);
        },
        values);
  }
  void launch(const Grid& grid, const void* kernel, void** arguments);

  /// Until all that is in the stream has ended. Throws the cause if a kernel waited in vain, here or on another rank.
  void wait();
  /// Until the host threads of all ranks, of all processes, are here; throws the cause if one has failed, or does not come
  /// within `longest`.
  void barrier();

 private:
  TeamState& state_;
  int id_;
};

class Team {
 public:
  /// Allocates the windows, zeroed. Throws `unsupported` with a sentence if this machine cannot do what is asked.
  explicit Team(const TeamOptions& options);
  /// Of the ranks of several processes of a host, which map each other's windows (CUDA IPC); `hall` says how many each has, as
  /// mpi::hall() makes it. Every rank needs a GPU of its own; each process takes its share of the devices by position. All
  /// processes make, run and destroy a team together, with the same options, and make the same arrays, slots and signals in the
  /// same order. What one of them cannot do is thrown in all. A window that another process still maps some seconds after its
  /// team was destroyed goes with the process. Null: a team of this process.
  Team(const TeamOptions& options, std::unique_ptr<Hall> hall);
  ~Team();
  Team(const Team&) = delete;

  int size() const;        // of all processes
  int first_rank() const;  // of this process's ranks, which are numbered in a row
  int local_ranks() const;
  int device(int rank) const;            // of this process, and so is on()
  bool shares_devices() const;           // its ranks must not wait for each other on the device
  const DeviceTeam& on(int rank) const;  // bad_argument for a rank of another process

  // --- between runs: all windows are alike, so each of these is for all ranks ------------------------------------------------
  template <class T>
  Symmetric<T> array(i64 count) {
    return {take(count * i64(sizeof(T))), count};
  }
  /// For reductions of `values` (1 to 16) doubles, by grids of up to most_blocks, and for sending values.
  TeamSlots slots(const std::string& name, int values, int most_blocks = 1);
  TeamSignals signals(const std::string& name);
  /// Blocking copies between host memory and rank's array, from its element `first` on. A rank of another process is written
  /// there: here nothing happens. It is read there, too: here that is a bad_argument. A rank may read its own in its job.
  template <class T>
  void write(int rank, const Symmetric<T>& array, const T* host, i64 count, i64 first = 0) {
    copy_in(rank, array.offset + first * i64(sizeof(T)), host, std::size_t(count) * sizeof(T));
  }
  template <class T>
  void read(int rank, const Symmetric<T>& array, T* host, i64 count, i64 first = 0) {
    copy_out(rank, array.offset + first * i64(sizeof(T)), host, std::size_t(count) * sizeof(T));
  }

  /// Runs job(rank) for all ranks of this process, each on its own thread with its device current, and waits for their streams.
  /// All processes call it together: nobody's job begins before all have written their windows, and nobody returns before all
  /// jobs and streams have ended. Throws the first cause of a failure, the same in all processes, and then on every later call:
  /// a team that failed is not used again. A rank that is alone, of all processes, has the thread of the caller.
  void run(const std::function<void(TeamRank&)>& job);
  /// Of a rank that is alone: job(rank), on the caller's thread, launches in a stream of the caller's on that device, behind
  /// what was started before, in whichever stream; nobody waits. What fails on the device is thrown by the next start(), run()
  /// or settle(). Throws `unsupported` for a stream that is captured: epochs would be those of the capture in each replay.
  void start(cudaStream_t stream, const std::function<void(TeamRank&)>& job);
  /// Until all that was started has ended; throws the cause if a kernel waited in vain.
  void settle();
  bool has_failed() const;  // and so is not used again

 private:
  i64 take(i64 bytes);
  void copy_in(int rank, i64 at, const void* host, std::size_t bytes);
  void copy_out(int rank, i64 at, void* host, std::size_t bytes);
  std::shared_ptr<TeamState> state_;
};

}  // namespace sordino::cuda
