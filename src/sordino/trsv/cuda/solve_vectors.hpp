// How a solve of a caller's vectors is put on its way, by blocks or by levels: in place and in the caller's stream where there
// is one rank and they are on its GPU, else on copies, which are waited for.
#pragma once
#include <atomic>
#include <vector>

#include "sordino/trsv/cuda/passes.hpp"
#include "sordino/trsv/cuda/rank_tables.hpp"
#include "sordino/trsv/in_stream.hpp"

namespace sordino::trsv {

/// A word of the host's in which kernels, on any GPU, say which pass was the last with a number of x that was NaN or infinite.
class NotFinite {
 public:
  /// `device`: one that has a context already.
  explicit NotFinite(int device) {
    const cuda::OnDevice on(device);
    cuda::call("cudaHostAlloc",
               cudaHostAlloc(reinterpret_cast<void**>(&word_), sizeof(u32), cudaHostAllocPortable | cudaHostAllocMapped));
    *word_ = 0;
  }
  ~NotFinite() { cudaFreeHost(word_); }
  NotFinite(const NotFinite&) = delete;

  u32* word() const { return word_; }
  /// Whether it was one behind pass `epoch`; all have ended.
  bool is_behind(u32 epoch) { return i32(std::atomic_ref<u32>(*word_).exchange(epoch, std::memory_order_acquire) - epoch) > 0; }

 private:
  u32* word_ = nullptr;
};

template <class V>
class SolveVectors {
 public:
  explicit SolveVectors(cuda::Team& team) : team_(team), b_(std::size_t(team.size())), not_finite_(team.device(0)) {}

  /// Room for copies of so many numbers of b, on each rank's GPU, and of x, on the first one's.
  void reserve_b(i64 numbers) {
    for (int r = 0; r < team_.size(); r++) reserve(b_[std::size_t(r)], r, numbers);
  }
  void reserve_x(i64 numbers) { reserve(x_, 0, numbers); }
  V* b(int rank) const { return b_[std::size_t(rank)].data(); }
  V* x() const { return x_.data(); }
  i64 bytes(int rank) const { return b_[std::size_t(rank)].bytes() + (rank == 0 ? x_.bytes() : 0); }
  u32* not_finite() const { return not_finite_.word(); }

  /// load(rank) makes kernels ready, and start(rank, b, x) launches the passes behind pass `epoch`. Returns whether x, of so
  /// many numbers, is finite if that is waited for, as where vectors are copied, and else true.
  template <class Load, class Start>
  bool solve(const V* b, V* x, i64 numbers, const InStream& in, u32 epoch, const Load& load, const Start& start) {
    const CallersVectors given(team_, b, x, std::size_t(numbers) * sizeof(V), in.stream);
    if (given.in_place()) {
      team_.start(given.stream(), [&](cuda::TeamRank& rank) {
        load(rank);
        start(rank, b, x);
      });
      if (!in.waits) return true;
      team_.settle();
      return !not_finite_.is_behind(epoch);
    }
    if (!given.b_in_place()) reserve_b(numbers);
    if (!given.x_in_place()) reserve_x(numbers);
    team_.run([&](cuda::TeamRank& rank) {
      load(rank);
      given.put(rank, this->b(rank.id()));
      rank.barrier();
      start(rank, given.b_in_place() ? b : this->b(rank.id()), given.x_in_place() ? x : this->x());
      given.take(rank, this->x());
    });
    return !not_finite_.is_behind(epoch);
  }

 private:
  void reserve(OnGpu<V>& vector, int rank, i64 numbers) {
    const cuda::OnDevice on(team_.device(rank));
    if (vector.count() < numbers) vector = OnGpu<V>(numbers);
  }

  cuda::Team& team_;
  std::vector<OnGpu<V>> b_;  // as the caller has it; where it is not read in place
  OnGpu<V> x_;               // likewise, of the first rank
  NotFinite not_finite_;
};

}  // namespace sordino::trsv
