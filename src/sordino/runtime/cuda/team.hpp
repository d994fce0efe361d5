// A team: devices of this process whose kernels talk to each other directly. This is the host's side, for authors of kernels:
// it gives each rank a window that all others reach, runs a host thread a rank, and says what went wrong. The device's side is
// team.cuh; docs/device_primitives.md shows both.
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

namespace sordino::cuda {

struct TeamOptions {
  int ranks = 0;                  // 0: one a device
  std::vector<int> devices = {};  // empty: all there are. With fewer than ranks, some share one: see team.cuh
  std::size_t window = 16 << 20;  // bytes of each rank's window
  double timeout = 10;            // seconds that a wait on a device may take; <= 0: forever
  double longest = 300;           // seconds that a rank's work may take before its device counts as lost
  u32 first_epoch = 0;            // for tests near the wrap-around
};

/// How a kernel is launched.
struct Grid {
  int blocks = 1, threads = block_threads;
  bool resident = false;  // all blocks are on the device at once (a cooperative launch), or it is an error: for grid_barrier
  bool chained = false;   // may begin while the kernel before it ends; it then calls wait_for_previous_command()
};

struct TeamState;

/// A rank, as its host thread sees it.
class TeamRank {
 public:
  TeamRank(TeamState& state, int id) : state_(state), id_(id) {}

  int id() const { return id_; }
  int size() const;
  int device() const;
  cudaStream_t stream() const;
  const DeviceTeam& team() const;  // what kernels of this rank are given

  /// Loads a kernel on this rank's device. To be done for every kernel that waits for others, before a barrier(): loading one
  /// at its first launch may wait for what runs.
  void load(const void* kernel);
  template <class... P>
  void load(void (*kernel)(P...)) {
    load(reinterpret_cast<const void*>(kernel));
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
  /// Until the host threads of all ranks are here; throws the cause if one has failed, or does not come within `longest`.
  void barrier();

 private:
  TeamState& state_;
  int id_;
};

class Team {
 public:
  /// Allocates the windows, zeroed. Throws `unsupported` with a sentence if this machine cannot do what is asked.
  explicit Team(const TeamOptions& options);
  ~Team();
  Team(const Team&) = delete;

  int size() const;
  int device(int rank) const;
  bool shares_devices() const;  // its ranks must not wait for each other on the device
  const DeviceTeam& on(int rank) const;

  // --- between runs: all windows are alike, so each of these is for all ranks ------------------------------------------------
  template <class T>
  Symmetric<T> array(i64 count) {
    return {take(count * i64(sizeof(T))), count};
  }
  /// For reductions of `values` (1 to 16) doubles, by grids of up to most_blocks, and for sending values.
  TeamSlots slots(const std::string& name, int values, int most_blocks = 1);
  TeamSignals signals(const std::string& name);
  /// Blocking copies between host memory and rank's array, from its element `first` on.
  template <class T>
  void write(int rank, const Symmetric<T>& array, const T* host, i64 count, i64 first = 0) {
    copy(rank, on(rank).at(rank, array) + first, host, std::size_t(count) * sizeof(T), true);
  }
  template <class T>
  void read(int rank, const Symmetric<T>& array, T* host, i64 count, i64 first = 0) {
    copy(rank, host, on(rank).at(rank, array) + first, std::size_t(count) * sizeof(T), false);
  }

  /// Runs job(rank) for all ranks, each on its own thread with its device current, and waits for their streams. Throws the
  /// first cause of a failure, and then on every later call: a team that failed is not used again.
  void run(const std::function<void(TeamRank&)>& job);

 private:
  i64 take(i64 bytes);
  void copy(int rank, void* to, const void* from, std::size_t bytes, bool to_device);
  std::shared_ptr<TeamState> state_;
};

}  // namespace sordino::cuda
