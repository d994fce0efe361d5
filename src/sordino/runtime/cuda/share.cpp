// Ranks that share a device: their host threads order the streams by events, one for each reduction and vector and the parity
// of its epoch. Two are enough: nobody sends twice before all have issued their wait for the first.
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {

void State::add_channel(std::vector<std::unique_ptr<Channel>>& channels, RankState& r) {
  channels.push_back(std::make_unique<Channel>());
  if (!shared) return;
  for (cudaEvent_t& e : channels.back()->event) {
    call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    r.counters.allocations++;
  }
}

void State::signal(RankState& r, Channel& mine) {
  u64 n = mine.issued.load(std::memory_order_relaxed) + 1;
  call("cudaEventRecord", cudaEventRecord(mine.event[n & 1], r.stream));
  mine.issued.store(n, std::memory_order_release);
}

// All ranks issue the same commands, so the peer's sending that belongs to this wait has the number of my own last one.
// Commands that turn out to be void, because the loop has ended, count on all ranks alike.
void State::follow(Rank& rank, const Channel& mine, int peer, std::vector<std::unique_ptr<Channel>> RankState::* channels,
                   int id) {
  RankState& there = local(peer);
  const Channel* theirs = nullptr;
  {
    std::lock_guard lock(mutex);
    theirs = (there.*channels)[id].get();
  }
  u64 n = mine.issued.load(std::memory_order_relaxed);
  wait(
      rank, [&] { return theirs->issued.load(std::memory_order_acquire) >= n; },
      [&] { return "rank " + std::to_string(peer) + " to issue its commands"; });
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(of(rank).stream, theirs->event[n & 1], 0));
}

}  // namespace sordino::cuda
