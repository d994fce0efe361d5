// Arrays that threads make on their way to a device: each has two pinned buffers, of which it fills one while the device
// copies the other.
#include <algorithm>
#include <chrono>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {
namespace {

constexpr i64 most_bytes = i64(96) << 20;  // of all buffers, unless two of them need more
constexpr i64 at_once = i64(1) << 20;      // of pieces that are copied together, unless one is larger

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
  Uploads(RankState& r, void* to, const MadeArray& array, int threads, double timeout)
      : r_(r),
        to_(static_cast<char*>(to)),
        array_(array),
        timeout_(timeout),
        groups_(groups_of(array.begins)),
        of_buffer_(largest_group()),
        threads_(int(std::clamp<i64>(most_bytes / (2 * of_buffer_), 1, thread_count(threads)))) {}

  void run() {
    const Pinned all(2 * threads_ * of_buffer_);
    buffers_.resize(2 * std::size_t(threads_));
    struct Events {
      ~Events() {
        cudaStreamSynchronize(of.r_.stream);  // buffers are read
        for (const Buffer& b : of.buffers_)
          if (b.copied) cudaEventDestroy(b.copied);
      }
      Uploads& of;
    } const events{*this};
    for (std::size_t k = 0; k < buffers_.size(); k++) {
      buffers_[k].bytes = all.bytes + i64(k) * of_buffer_;
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
    call("cudaStreamSynchronize", cudaStreamSynchronize(r_.stream));
  }

 private:
  struct Pinned {
    explicit Pinned(i64 count) {
      call("cudaHostAlloc", cudaHostAlloc(reinterpret_cast<void**>(&bytes), std::size_t(count), 0));
    }
    ~Pinned() { cudaFreeHost(bytes); }
    Pinned(const Pinned&) = delete;
    char* bytes = nullptr;
  };

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
  void await(const Buffer& buffer) const {
    const double begin = seconds_now();
    for (cudaError_t e; (e = cudaEventQuery(buffer.copied)) != cudaSuccess;) {
      if (e != cudaErrorNotReady) call("cudaEventQuery", e);
      if (timeout_ > 0 && seconds_now() - begin > timeout_)
        throw Error(Errc::device, "device " + std::to_string(r_.device) + " has taken none of an operator's arrays for " +
                                      std::to_string(int(timeout_)) + " s");
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  RankState& r_;
  char* const to_;
  const MadeArray& array_;
  const double timeout_;  // s; 0 or less: none
  const std::vector<i64> groups_;
  const i64 of_buffer_;  // bytes
  const int threads_;
  std::vector<Buffer> buffers_;
};

}  // namespace

void CudaEngine::upload_made(Rank& rank, void* to, const MadeArray& array, int threads) {
  rank.check_idle("memory is written");
  RankState& r = state_->of(rank);
  const OnDevice on(r.device);
  if (array.begins.size() > 1) Uploads(r, to, array, threads, state_->options.timeout).run();
}

}  // namespace sordino::cuda
