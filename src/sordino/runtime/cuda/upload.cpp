// Arrays that threads make on their way to a device: each has two pinned buffers, of which it fills one while the device
// copies the other.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {
namespace {

constexpr i64 most_bytes = i64(96) << 20;  // of all buffers, unless two of them need more
constexpr i64 at_once = i64(1) << 20;      // of pieces that are copied together, unless one is larger
constexpr double after_fault = 1;          // s, in which waits on devices end by themselves; a rank is left behind after 2

/// Pieces that follow one another: from each of these on, up to the next one.
std::vector<i64> groups_of(const std::vector<i64>& begins) {
  const auto pieces = i64(begins.size()) - 1;
  std::vector<i64> first{0};
  for (i64 piece = 1; piece < pieces; piece++)
    if (begins[std::size_t(piece) + 1] - begins[std::size_t(first.back())] > at_once) first.push_back(piece);
  first.push_back(pieces);
  return first;
}

/// A thread's buffer: pinned, and free when what was copied last has arrived.
struct Buffer {
  void* bytes = nullptr;
  cudaEvent_t copied = nullptr;
};

class Uploads {
 public:
  Uploads(State& state, RankState& r, void* to, const MadeArray& array, int threads)
      : state_(state),
        r_(r),
        to_(static_cast<char*>(to)),
        array_(array),
        groups_(groups_of(array.begins)),
        of_buffer_(largest_group()),
        threads_(int(std::clamp<i64>(most_bytes / (2 * of_buffer_), 1, thread_count(threads)))) {}
  Uploads(const Uploads&) = delete;
  /// What the device may still read is left to it, as all is that a lost device has.
  ~Uploads() {
    if (is_over())
      cudaFreeHost(bytes_);
    else
      state_.lost = true;
    for (const Buffer& b : buffers_)
      if (b.copied) cudaEventDestroy(b.copied);
  }

  void run() {
    call("cudaHostAlloc", cudaHostAlloc(reinterpret_cast<void**>(&bytes_), std::size_t(2 * threads_ * of_buffer_), 0));
    buffers_.resize(2 * std::size_t(threads_));
    for (std::size_t k = 0; k < buffers_.size(); k++) {
      buffers_[k].bytes = bytes_ + i64(k) * of_buffer_;
      call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&buffers_[k].copied, cudaEventDisableTiming));
    }
    std::vector<int> turns(static_cast<std::size_t>(threads_));
    auto some = [&](i64 group, i64, int thread) {
      const OnDevice here(r_.device);
      int& turn = turns[std::size_t(thread)];
      send(group, buffers_[std::size_t(2 * thread + turn)]);
      turn = 1 - turn;
    };
    deal_out(i64(groups_.size()) - 1, 1, threads_, some);
    for (const Buffer& b : buffers_) await(b);
  }

 private:
  i64 begin_of(i64 piece) const { return array_.begins[std::size_t(piece)]; }
  i64 largest_group() const {
    i64 most = 1;
    for (std::size_t g = 1; g < groups_.size(); g++) most = std::max(most, begin_of(groups_[g]) - begin_of(groups_[g - 1]));
    return (most + 63) / 64 * 64;
  }
  void send(i64 group, const Buffer& buffer) {
    const i64 first = groups_[std::size_t(group)], end = groups_[std::size_t(group) + 1], begin = begin_of(first);
    await(buffer);
    for (i64 piece = first; piece < end; piece++)
      array_.make(piece, static_cast<char*>(buffer.bytes) + (begin_of(piece) - begin));
    const auto bytes = std::size_t(begin_of(end) - begin);
    call("cudaMemcpyAsync", cudaMemcpyAsync(to_ + begin, buffer.bytes, bytes, cudaMemcpyHostToDevice, r_.stream));
    call("cudaEventRecord", cudaEventRecord(buffer.copied, r_.stream));
  }
  /// Until the device has read it, or somebody has failed. Any of the threads.
  void await(const Buffer& buffer) const {
    const double begin = seconds_now(), timeout = state_.options.timeout;
    for (cudaError_t e; (e = cudaEventQuery(buffer.copied)) != cudaSuccess; pause()) {
      if (e != cudaErrorNotReady) call("cudaEventQuery", e);
      if (state_.hall->raised()) state_.fail_as_peers();
      if (timeout <= 0 || seconds_now() - begin <= timeout) continue;
      given_up_ = true;
      throw Error(Errc::device, "device " + std::to_string(r_.device) + " has taken none of an operator's arrays for " +
                                    std::to_string(int(timeout)) + " s");
    }
  }
  /// Whether the device has read all, before patience ends. Never cudaStreamSynchronize: a lost device would keep it.
  bool is_over() const {
    const double begin = seconds_now(), timeout = state_.options.timeout;
    for (; cudaStreamQuery(r_.stream) == cudaErrorNotReady; pause()) {
      const double waited = seconds_now() - begin;
      if (given_up_ || state_.hall->raised() ? waited > after_fault : timeout > 0 && waited > timeout) return false;
    }
    return true;
  }
  static void pause() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

  State& state_;
  RankState& r_;
  char* const to_;
  const MadeArray& array_;
  const std::vector<i64> groups_;
  const i64 of_buffer_;  // bytes
  const int threads_;
  char* bytes_ = nullptr;  // of all buffers
  std::vector<Buffer> buffers_;
  mutable std::atomic<bool> given_up_{false};  // by one of the threads: the device is not waited for twice
};

}  // namespace

void CudaEngine::upload_made(Rank& rank, void* to, const MadeArray& array, int threads) {
  rank.check_idle("memory is written");
  RankState& r = state_->of(rank);
  const OnDevice on(r.device);
  if (array.begins.size() > 1) Uploads(*state_, r, to, array, threads).run();
}

}  // namespace sordino::cuda
