// A recording's queues on streams of a device. Commands that talk to other ranks, or may end the loop, keep the order of the
// recording on the rank's own stream, together with those that touch a vector which all ranks write, and with all others of the
// first queue that has such a one: that order is the same on all ranks, so nobody waits on the device for what stands behind
// his own waiting. All other commands of a queue run on a stream of the queue's own, beside them; what they have to wait for,
// Command::after and the order of their queue say.
#pragma once
#include <vector>

#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {

class Streams {
 public:
  /// `together`: all on the rank's own stream.
  Streams(RankState& memory, const Rank& rank, const Recording& recording, bool together);
  ~Streams();
  Streams(const Streams&) = delete;

  /// At the beginning and at the end of a stretch of launches, on the rank's own stream; `together`: this time all use that
  /// one.
  void fork(bool together = false);
  void join();
  struct Place {
    cudaStream_t stream;
    bool follows;  // a launch of the same stream, and nothing else: so it may begin while that one ends
  };
  /// Makes the stream of a command wait for what comes before it.
  Place enter(int command);
  /// Something else than a launch was put behind the command's.
  void interrupt(int command) { begun_[std::size_t(lane(command))] = false; }
  void leave(int command);

 private:
  struct Done {
    cudaEvent_t event = nullptr;
    bool recorded = false;  // since the fork
  };
  bool several() const { return !side_.empty() && !together_; }
  int lane(int command) const { return together_ ? 0 : lane_of_[std::size_t(command)]; }
  cudaStream_t stream(int lane) const { return lane == 0 ? rank_.stream : side_[std::size_t(lane - 1)]; }
  bool follow(int lane, int command);
  void make_events();

  RankState& rank_;
  const Recording& rec_;
  std::vector<int> lane_of_;        // [command] 0: the rank's own stream
  std::vector<cudaStream_t> side_;  // of queues
  std::vector<cudaEvent_t> ends_;   // [side], and of the fork
  std::vector<Done> done_;          // [command]
  bool together_ = false;
  std::vector<char> begun_;  // [lane] something was launched there since the fork
  std::vector<int> last_;    // [queue] command issued last since the fork; -1: none
};

}  // namespace sordino::cuda
