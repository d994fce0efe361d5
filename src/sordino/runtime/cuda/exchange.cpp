// Programs over NCCL. What a launch sends lies in outboxes, and in the rank's own packets; behind the launch the host issues
// one group of messages, and behind that a kernel that puts into place what has come. So commands that wait find what they wait
// for, and no kernel ever spins for another rank. What a rank waits for in vain keeps its stream: the host sees that, and says
// so.
#include "sordino/runtime/cuda/program.hpp"

namespace sordino::cuda {
namespace {

constexpr u32 epochs = 0x7fffffff;
constexpr u32 sign_of_messages = 1u << 31;  // no chunk has such a number

bool has_come(u32 word, u32 epoch) { return (((word >> 1) - epoch) & epochs) <= epochs / 2; }

Awaited of_epoch(const std::string& what, u32 epoch, u32 word) { return {what, epoch & epochs, word >> 1}; }

}  // namespace

u32 CudaProgram::epoch_now(const EpochRef& e) const { return mine_.staging->epochs[e.index] + offsets_[std::size_t(e.index)]; }

void CudaProgram::exchange(const Parcel& parcel, int command, int iteration) {
  const Injection& inject = state_.options.inject;
  mine_.mute |= inject.mute && inject.rank == rank_.id() && inject.command == rec_.commands[command].name &&
                inject.iteration == iteration;
  if (mine_.mute) return;
  auto look = [this] {
    state_.attend();
    if (state_.hall->raised()) state_.fail_as_peers();
  };
  look();
  Exchanged e{.parcel = &parcel, .command = command, .iteration = iteration, .mark = mine_.marks + 1};
  for (std::size_t j = 0; j < parcel.vectors.size(); j++) e.rows[j] = epoch_now(parcel.vectors[j].second);
  if (parcel.slot >= 0) e.sums = epoch_now(parcel.epoch);
  exchanged_.push_back(e);
  Nccl::Group group(*state_.nccl, rank_.id(), mine_.stream);
  for (auto& [vector, unused] : parcel.vectors)
    for (auto& p : mine_.vectors[std::size_t(vector)].by_nccl.peers) {
      group.send(p.outbox, p.sent, p.rank);
      group.receive(p.inbox, p.received, p.rank);
    }
  if (parcel.slot >= 0) {
    const ReductionMemory& d = mine_.reductions[std::size_t(parcel.slot)];
    i64 half = i64(e.sums & 1) * d.parts * d.values;
    Packet* packets = d.packets + half;
    if (d.outbox) group.add_words(d.outbox + half, packets, i64(d.parts) * d.values * i64(sizeof(Packet) / sizeof(u64)));
    auto bytes = [&](i32 parts) { return i64(parts) * d.values * i64(sizeof(Packet)); };
    for (auto& s : d.senders) {
      if (s.rank == rank_.id() || d.outbox) continue;
      if (d.own_parts > 0) group.send(packets + i64(d.place) * d.values, bytes(d.own_parts), s.rank);
      if (s.count > 0) group.receive(packets + i64(s.first) * d.values, bytes(s.count), s.rank);
    }
  }
  group.issue(look);
  calls_made++;
  mine_.messages++;
  if (!parcel.vectors.empty()) take_arrivals(e);
}

void CudaProgram::take_arrivals(const Exchanged& e) {
  ArrivalArgs a;
  i32 most_peers = 0, most_rows = 0;
  for (auto& [vector, unused] : e.parcel->vectors) {
    const NcclRoute& route = mine_.vectors[std::size_t(vector)].by_nccl;
    a.vector[a.vectors] = {route.arrivals, i32(route.peers.size()), e.rows[std::size_t(a.vectors)]};
    a.vectors++;
    most_peers = std::max(most_peers, i32(route.peers.size()));
    most_rows = std::max(most_rows, route.most_rows);
  }
  a.engine = mine_.pulse;
  a.rank = mine_.index;
  a.beat = sign_of_messages | mine_.messages;
  launch_arrivals(a, most_peers, most_rows, mine_.stream);
}

// --- messages that do not come -----------------------------------------------------------------------------------------------

/// A word of the device, which may be busy; -1 if it cannot be asked any more.
u32 CudaProgram::look_at(const void* word) const {
  u32 seen = ~u32(0);
  cudaMemcpyAsync(&seen, word, sizeof seen, cudaMemcpyDeviceToHost, mine_.courier);
  cudaStreamSynchronize(mine_.courier);
  return seen;
}

/// Which of these messages has not come.
std::optional<Awaited> CudaProgram::missing(const Exchanged& e) const {
  for (std::size_t j = 0; j < e.parcel->vectors.size(); j++) {
    int vector = e.parcel->vectors[j].first;
    for (auto& p : mine_.vectors[std::size_t(vector)].by_nccl.peers)
      if (u32 seen = look_at(p.received_flag); !has_come(seen, e.rows[j]))
        return of_epoch("rank " + std::to_string(p.rank) + "'s rows of '" + rank_.vectors()[std::size_t(vector)].name + "'",
                        e.rows[j], seen);
  }
  if (e.parcel->slot < 0) return {};
  const ReductionMemory& d = mine_.reductions[std::size_t(e.parcel->slot)];
  for (auto& s : d.senders) {
    if (s.count == 0 || s.rank == rank_.id()) continue;
    const Packet* first = d.packets + (i64(e.sums & 1) * d.parts + s.first) * d.values;
    if (u32 seen = look_at(&first->tag); !has_come(seen, e.sums))
      return of_epoch((d.outbox ? "all parts" : "rank " + std::to_string(s.rank) + "'s part") + " of the reduction into '" +
                          rank_.scalar_names()[rank_.reductions()[std::size_t(e.parcel->slot)].to[0]] + "'",
                      e.sums, seen);
  }
  return {};
}

/// Called now and then while the host waits for the device; `calm`: seconds without anybody's sign of life. What ends the
/// waiting is said first: the rank's own kernels leave by it, and only then NCCL's can be ended.
void CudaProgram::watch_exchange(double calm) {
  Hall& hall = *state_.hall;
  if (hall.raised()) return state_.nccl->abort(mine_.index);
  if (std::string error = state_.nccl->error_of(mine_.index); !error.empty())
    state_.raise(
        {Errc::peer_failed, "rank " + std::to_string(rank_.id()) + ": NCCL cannot go on: " + error, {.rank = rank_.id()}});
  if (state_.options.timeout <= 0 || calm <= state_.options.timeout) return;
  for (auto& e : exchanged_)
    if (auto what = missing(e)) return complain(e.command, e.iteration, *what);
}

}  // namespace sordino::cuda
