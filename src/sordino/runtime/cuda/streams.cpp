#include "sordino/runtime/cuda/streams.hpp"

#include <algorithm>

namespace sordino::cuda {
namespace {

bool talks(const Command& c) {
  auto with_others = [](const Phase& p) {
    return p.op == Op::finish || p.op == Op::exit_test || p.op == Op::await || p.op == Op::put || p.op == Op::start;
  };
  return std::any_of(c.phases.begin(), c.phases.end(), with_others);
}

// Other ranks write it, whenever the commands that send and wait say so.
bool touches_gathered(const Command& c, const Rank& rank) {
  auto gathered = [&](int v) { return rank.vectors()[v].exchange && rank.space(rank.vectors()[v].space).replicated; };
  return std::any_of(c.reads.begin(), c.reads.end(), gathered) || std::any_of(c.writes.begin(), c.writes.end(), gathered);
}

cudaEvent_t new_event() {
  cudaEvent_t e = nullptr;
  call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  return e;
}

}  // namespace

Streams::Streams(RankState& memory, const Rank& rank, const Recording& recording, bool together)
    : rank_(memory), rec_(recording), lane_of_(recording.commands.size(), 0) {
  auto& commands = rec_.commands;
  if (together || commands.empty()) return;
  auto first = std::find_if(commands.begin(), commands.end(), talks);
  int own = first == commands.end() ? commands[0].queue : first->queue;
  std::vector<int> queues;  // that have a stream of their own
  for (std::size_t i = 0; i < commands.size(); i++) {
    const Command& c = commands[i];
    last_.resize(std::max(last_.size(), std::size_t(c.queue) + 1), -1);
    if (c.queue == own || talks(c) || touches_gathered(c, rank)) continue;
    auto at = std::find(queues.begin(), queues.end(), c.queue);
    lane_of_[i] = int(at - queues.begin()) + 1;
    if (at == queues.end()) queues.push_back(c.queue);
  }
  side_.resize(queues.size(), nullptr);
  if (!queues.empty()) make_events();
}

void Streams::make_events() {
  for (auto& s : side_) {
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    ends_.push_back(new_event());
  }
  ends_.push_back(new_event());
  for (std::size_t i = 0; i < rec_.commands.size(); i++) done_.push_back({new_event()});
  rank_.counters.allocations++;
}

Streams::~Streams() {
  for (cudaStream_t s : side_)
    if (s) cudaStreamDestroy(s);
  for (cudaEvent_t e : ends_) cudaEventDestroy(e);
  for (auto& d : done_) cudaEventDestroy(d.event);
}

void Streams::fork(bool together) {
  together_ = together;
  begun_.assign(side_.size() + 1, false);
  if (!several()) return;
  call("cudaEventRecord", cudaEventRecord(ends_.back(), rank_.stream));
  for (cudaStream_t s : side_) call("cudaStreamWaitEvent", cudaStreamWaitEvent(s, ends_.back(), 0));
  for (auto& d : done_) d.recorded = false;
  std::fill(last_.begin(), last_.end(), -1);
}

void Streams::join() {
  if (!several()) return;
  for (std::size_t k = 0; k < side_.size(); k++) {
    call("cudaEventRecord", cudaEventRecord(ends_[k], side_[k]));
    call("cudaStreamWaitEvent", cudaStreamWaitEvent(rank_.stream, ends_[k], 0));
  }
}

// The last time that a command was issued is what counts: in this iteration, or in the one before.
bool Streams::follow(int lane, int command) {
  const Done& d = done_[std::size_t(command)];
  if (!d.recorded || this->lane(command) == lane) return false;
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(stream(lane), d.event, 0));
  return true;
}

Streams::Place Streams::enter(int command) {
  int mine = lane(command);
  bool follows = std::exchange(begun_[std::size_t(mine)], true);
  if (!several()) return {rank_.stream, follows};
  const Command& c = rec_.commands[std::size_t(command)];
  for (auto& d : c.after) follows &= !follow(mine, d.command);
  if (int before = last_[std::size_t(c.queue)]; before >= 0) follows &= !follow(mine, before);
  return {stream(mine), follows};
}

void Streams::leave(int command) {
  if (!several()) return;
  Done& d = done_[std::size_t(command)];
  call("cudaEventRecord", cudaEventRecord(d.event, stream(lane(command))));
  d.recorded = true;
  last_[std::size_t(rec_.commands[std::size_t(command)].queue)] = command;
}

}  // namespace sordino::cuda
