// What solves on GPUs have in common, by blocks or by levels: taking turns, columns of b at once, and times.
#pragma once
#include <functional>
#include <mutex>
#include <vector>

#include "sordino/runtime/cuda/team.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"

namespace sordino::trsv {

/// b and x of a caller, each on the host or on a GPU. Passes read and write them in place where there is one rank, and they are
/// on its GPU. Else b is copied to each rank's, and ranks write their rows of x to the first one's, since others' kernels may
/// not reach memory of a caller's allocator.
class CallersVectors {
 public:
  /// Unless all is in place, waits for what was given to `stream`, or if that is null to the legacy default streams of GPUs
  /// that hold them.
  CallersVectors(const cuda::Team& team, const void* b, void* x, std::size_t bytes, void* stream);

  bool b_in_place() const { return b_in_place_; }
  bool x_in_place() const { return x_in_place_; }
  bool in_place() const { return b_in_place_ && x_in_place_; }
  /// Where passes over vectors in place are put.
  cudaStream_t stream() const { return stream_; }
  /// A rank's copy of b, before a barrier of the ranks.
  void put(cuda::TeamRank& rank, void* b) const;
  /// x from the first rank's copy, when all ranks have ended their passes.
  void take(cuda::TeamRank& rank, const void* x) const;

 private:
  void wait_for_work(const std::vector<int>& devices, bool has_stream) const;

  const void* b_;
  void* x_;
  std::size_t bytes_;
  cudaStream_t stream_;
  bool b_in_place_ = false, x_in_place_ = false;
};

/// How many columns of b a pass can have: 1, 2, 4 or 8; wide ones, which not all solves have, 16 or 32.
inline constexpr int most_columns_of_pass = 8, most_columns_of_wide_pass = 32;
inline constexpr int sizes_of_passes = 6;
/// Of a size among them: k of 2^k.
inline int place_of_size(int columns) {
  int k = 0;
  while (k + 1 < sizes_of_passes && 1 << k < columns) k++;
  return k;
}

/// Kernels that wait for other GPUs must be there together: solves of a process on several take turns. One on one GPU waits for
/// nobody else's, and has no turn to wait for.
std::unique_lock<std::mutex> turn_on_gpus(int ranks);

/// Until what was started has ended, before its memory goes; throws nothing.
void settle_quietly(cuda::Team& team) noexcept;

/// Throws bad_argument for a number of columns that no pass has, with wide ones or without.
void validate(const GpuOptions& options, int most = most_columns_of_pass);

/// Columns of b that a pass takes, and those that it has room for: as many, but in wide passes.
struct PassSize {
  int columns, room;
  bool is_wide() const { return room > most_columns_of_pass; }
};
/// Of the columns that are left, with at most so many in a pass.
PassSize size_of_pass(i64 left, int most);
u32 passes_of(i64 columns, int most);

/// Seconds of each of so many starts of work on all ranks, from the first one's begin to the last one's end: `prepare` what is
/// not counted, `start` what is, and `then` behind each.
std::vector<double> seconds_on_gpus(cuda::Team& team, int repeats, const std::function<void(cuda::TeamRank&)>& prepare,
                                    const std::function<void(cuda::TeamRank&)>& start, const std::function<void()>& then);

}  // namespace sordino::trsv
