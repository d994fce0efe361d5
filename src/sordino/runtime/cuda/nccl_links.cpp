// Ways through NCCL: the communicator of all ranks, what they send and receive by it, and its end.
#include <algorithm>

#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {
namespace {

constexpr double least_patience = 60;  // seconds: other processes may still be loading it
constexpr std::size_t word = sizeof(double);

}  // namespace

// --- joining -----------------------------------------------------------------------------------------------------------------

void State::need_a_device_each(const std::string& library) const {
  auto refuse = [&](const std::string& who) {
    throw Error(Errc::unsupported,
                library + " takes one rank a GPU, and " + who + ": start fewer ranks, or choose other links");
  };
  if (shared || options.ranks > int(devices.size()))
    refuse("here are " + std::to_string(options.ranks) + " ranks for " + std::to_string(devices.size()) +
           (shared && options.ranks <= int(devices.size()) ? " in shared use" : ""));
  for (int a = 0; a < hall->ranks() && several_processes(); a++)
    for (int b = 0; b < a; b++)
      if (hall->is_near(a) && hall->is_near(b) && hall->device(a) == hall->device(b))
        refuse("ranks " + std::to_string(b) + " and " + std::to_string(a) + " are on the same one");
}

void State::join_nccl() {
  if (hall->ranks() == 1) return;
  need_a_device_each("NCCL");
  nccl = std::make_unique<Nccl>(options.nccl);
  Invitation invitation = invite([this] { return Invitation{.id = nccl->make_id()}; });
  nccl->join(invitation.id, hall->ranks(), hall->first_rank(), devices, [this, begin = seconds_now()] {
    attend();
    be_patient(begin, "NCCL");
  });
}

Invitation State::invite(const std::function<Invitation()>& make) {
  if (hall->process() == 0) {
    Invitation invitation = make();
    hall->invite(invitation);
    for (int h = 1; h < hall->hosts(); h++)
      courier->transport().send(hall->leader(h), {.kind = Message::invitation}, &invitation, sizeof invitation);
  }
  if (several_processes()) meet_processes();
  return hall->invitation();
}

void State::be_patient(double since, const char* library) const {
  if (hall->raised()) throw Error(hall->code(), hall->cause());
  double patience = std::max(options.timeout, least_patience);
  if (options.timeout > 0 && seconds_now() - since > patience)
    throw Error(Errc::peer_failed, "waited " + std::to_string(int(patience)) + " s for all ranks to take part in " + library);
}

// NCCL prepares its ways at their first use, for which hosts wait for each other; so all are used once, here.
void State::connect_nccl() {
  auto connect = [this](int i) {
    RankState& r = *ranks[std::size_t(i)];
    try {
      call("cudaSetDevice", cudaSetDevice(r.device));
      prepare_arrivals();
      std::size_t bytes = std::size_t(hall->ranks()) * word;
      char* words = static_cast<char*>(take_memory(r, 2 * bytes, "NCCL's first messages"));
      r.tables.push_back(words);
      call("cudaMemsetAsync", cudaMemsetAsync(words, 0, 2 * bytes, r.stream));
      Nccl::Group group(*nccl, r.index, r.stream);
      for (int other = 0; other < hall->ranks(); other++) {
        if (other == r.index) continue;
        group.send(words + std::size_t(other) * word, word, other);
        group.receive(words + bytes + std::size_t(other) * word, word, other);
      }
      auto look = [this, begin = seconds_now()] { be_patient(begin, "NCCL"); };
      group.issue(look);
      while (cudaStreamQuery(r.stream) == cudaErrorNotReady) {
        look();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    } catch (const Error&) {
      hall->raise(caught("rank " + std::to_string(r.index) + ": ", {.rank = r.index}));
    }
    drain(r);
  };
  team->run(connect, [this] {
    attend();
    if (hall->raised()) abort_nccl();
    return hall->raised() ? 5.0 : -1.0;
  });
  if (hall->raised()) throw Error(hall->code(), hall->cause());
}

// --- rows --------------------------------------------------------------------------------------------------------------------

VectorAddress State::nccl_outbox(RankState& r, Rank& rank, int physical, int peer) {
  const ExchangePeer& p = rank.vectors()[physical].exchange->peers[std::size_t(peer)];
  std::string what = "what is sent of '" + rank.vectors()[physical].name + "'";
  u32 first = flag_word(rank.pushed[physical], false);
  auto box = [&](i32 count) {
    std::size_t bytes = (std::size_t(count) + 1) * word;
    auto* rows = static_cast<double*>(take_memory(r, bytes, what));
    r.tables.push_back(rows);
    call("cudaMemsetAsync", cudaMemsetAsync(rows, 0, bytes, r.stream));
    copy_in(r, rows + count, &first, sizeof first);
    return rows;
  };
  NcclPeer to{.rank = p.rank, .sent = i64((std::size_t(p.send_count) + 1) * word)};
  double* outbox = box(p.send_count);
  to.outbox = outbox;
  to.inbox = box(p.recv_count);
  to.received = i64((std::size_t(p.recv_count) + 1) * word);
  to.received_flag = reinterpret_cast<u32*>(to.inbox + p.recv_count);
  r.vectors[physical].by_nccl.peers.push_back(to);
  return {outbox, reinterpret_cast<u32*>(outbox + p.send_count)};
}

void State::make_arrivals(RankState& r, Rank& rank, int physical) {
  const auto& peers = rank.vectors()[physical].exchange->peers;
  VectorMemory& v = r.vectors[physical];
  std::vector<Arrival> arrivals;
  for (std::size_t k = 0; k < peers.size(); k++) {
    const NcclPeer& from = v.by_nccl.peers[k];
    arrivals.push_back(
        {from.inbox, from.received_flag, v.rows + peers[k].recv_first, v.flags + k * flag_stride, peers[k].recv_count});
    v.by_nccl.most_rows = std::max(v.by_nccl.most_rows, peers[k].recv_count);
  }
  v.by_nccl.arrivals = table(r, arrivals, "the exchange of '" + rank.vectors()[physical].name + "'");
}

// --- sums: every rank's parts go from its own packets into everybody's
// --------------------------------------------------------

void State::find_senders(RankState& r, Rank& rank, int slot) {
  ReductionMemory& d = r.reductions[slot];
  tell_place(r.index, Published::reduction, slot, {.block = -1, .first_part = d.place});
  std::vector<int> first;
  for (int p = 0; p < rank.size(); p++) {
    std::optional<BlockPlace> place;
    wait(
        rank, [&] { return (place = hall->find_place(p, Published::reduction, slot)).has_value(); },
        [&] { return "word from rank " + std::to_string(p) + " on its reductions"; });
    first.push_back(place->first_part);
  }
  first.push_back(d.parts);
  for (int p = 0; p < rank.size(); p++)
    d.senders.push_back({p, first[std::size_t(p)], first[std::size_t(p) + 1] - first[std::size_t(p)]});
}

// What others send is 0 here: so whole numbers add up to everybody's packets, bit by bit.
Packet* State::nccl_outbox(RankState& r, int slot) {
  ReductionMemory& d = r.reductions[slot];
  std::vector<Packet> nothing(2 * std::size_t(d.parts) * d.values, Packet{0.0, 0});
  auto* packets = const_cast<Packet*>(table(r, nothing, "what is sent of a reduction"));
  d.outbox = packets;
  return packets;
}

// --- the end -----------------------------------------------------------------------------------------------------------------

void State::drain(RankState& r) {
  double begin = seconds_now(), patience = options.timeout + 1;
  while (nccl && cudaStreamQuery(r.stream) == cudaErrorNotReady) {
    attend();
    if (!hall->raised() && options.timeout > 0 && seconds_now() - begin > patience)
      hall->raise({Errc::peer_failed,
                   "rank " + std::to_string(r.index) + ": its last messages are not taken, or do not come",
                   {.rank = r.index}});
    if (hall->raised()) nccl->abort(r.index);
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  cudaStreamSynchronize(r.stream);
}

void State::abort_nccl() {
  if (!nccl) return;
  for (int i = 0; i < options.ranks; i++) nccl->abort(hall->first_rank() + i);
}

// NCCL's memory is mapped by others, as ours is.
void State::leave_nccl(bool alone) {
  if (nccl && (alone || hall->raised())) abort_nccl();
  nccl.reset();
}

}  // namespace sordino::cuda
