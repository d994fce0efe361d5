// Devices driven by one host thread: a stream each, ordered by events. So the paper on HACApK drives the GPUs of a process
// (section VI-A); here it is what our device code is compared with.
#pragma once
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "sordino/comm/cuda/measure.hpp"
#include "sordino/runtime/cuda/team.hpp"

namespace sordino::cuda {

class Lanes {
 public:
  /// One for each rank of a team, on its device. No wait takes longer than `longest` seconds.
  Lanes(const Team& team, double longest);
  ~Lanes();
  Lanes(const Lanes&) = delete;

  int size() const { return int(lanes_.size()); }
  cudaStream_t operator[](int lane) const { return lanes_[std::size_t(lane)].stream; }
  int device(int lane) const { return lanes_[std::size_t(lane)].device; }

  // --- asynchronous --------------------------------------------------------------------------------------------------------
  /// What `lane` gets from now on begins when all that `other` has got has ended.
  void follow(int lane, int other);
  /// What any lane gets from now on begins when all that any has got has ended.
  void join();
  template <class... P, class... A>
  void launch(int lane, int blocks, void (*kernel)(P...), A&&... arguments) {
    std::tuple<P...> values(std::forward<A>(arguments)...);
    std::apply(
        [&](P&... v) {
          void* pointers[] = {static_cast<void*>(&v)..., nullptr};
          launch(lane, blocks, reinterpret_cast<const void*>(kernel), pointers);
        },
        values);
  }
  static constexpr int threads = 256;  // of a block of such a kernel

  // --- the host ------------------------------------------------------------------------------------------------------------
  /// Until all that all lanes have got has ended.
  void wait();
  /// The host stands still until a lane has ended: cudaStreamSynchronize.
  void synchronize(int lane);
  /// `batches` times, and once more ahead of them: issues `rounds` rounds, and waits. Seconds of a round, by events.
  std::vector<double> time(int batches, int rounds, const std::function<void()>& issue);
  /// The same with the rounds captured in one graph over all devices: no host between them. Throws `unsupported` if such a
  /// graph cannot be made.
  std::vector<double> time_graph(int batches, int rounds, const std::function<void()>& issue);

 private:
  struct Lane {
    int device = 0;
    cudaStream_t stream = nullptr;
    cudaEvent_t reached = nullptr;
  };
  void launch(int lane, int blocks, const void* kernel, void** arguments);
  void record(int lane);
  void await(int lane, int other);  // what the other has recorded last
  void spread();                    // from lane 0 to all
  void gather();                    // from all to lane 0
  void release();
  cudaGraphExec_t captured(int rounds, const std::function<void()>& issue);
  std::vector<double> time_batches(int batches, int rounds, const std::function<void()>& issue_all);

  std::vector<Lane> lanes_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  double longest_;
};

/// Device memory of two ranks cannot be reached directly while this lives: copies between them then go through the host.
/// Nothing may run meanwhile that needs it.
class WithoutPeers {
 public:
  explicit WithoutPeers(const Lanes& lanes);
  ~WithoutPeers();
  WithoutPeers(const WithoutPeers&) = delete;

 private:
  void enable();
  std::vector<std::pair<int, int>> disabled_;
};

}  // namespace sordino::cuda
