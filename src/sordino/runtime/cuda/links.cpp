// Ways between ranks: straight through memory where a device reaches it, else through outboxes that a courier empties.
#include <algorithm>

#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {
namespace {

constexpr std::size_t line = flag_stride * sizeof(u32);

std::size_t up_to_line(std::size_t bytes) { return (bytes + line - 1) / line * line; }

/// Rows, and behind them a flag on a line of its own.
VectorAddress rows_and_flag(char* memory, i32 count, u32 word) {
  VectorAddress box{reinterpret_cast<double*>(memory),
                    reinterpret_cast<u32*>(memory + up_to_line(std::size_t(count) * sizeof(double)))};
  *box.flags = word;
  return box;
}

std::size_t bytes_of_box(i32 count) { return up_to_line(std::size_t(count) * sizeof(double)) + line; }

}  // namespace

void State::find_ways() {
  if (options.links == Links::nccl) return join_nccl();
  if (options.links == Links::nvshmem) return join_nvshmem();
  if (!options.all_far) reach = enable_peers(devices);
  if (options.links == Links::memory) need_peers(reach, devices);
  bool apart = options.links == Links::host;
  for (int a : devices)
    for (int b : devices) apart |= !reach.between(a, b);
  if (apart && !courier && options.ranks > 1) courier = std::make_unique<Courier>(*this, nullptr);
  if (options.links == Links::host && several_processes() && !courier)
    throw Error(Errc::unsupported, "several processes need a transport to send through host memory");
  if (options.sums == Sums::by_host && !courier && hall->ranks() > 1) courier = std::make_unique<Courier>(*this, nullptr);
}

void State::check_sums() const {
  if (options.late_sums && (options.deterministic || options.sums != Sums::pushed || shared))
    throw Error(Errc::unsupported, "sums are made late where ranks that have a GPU each push them, and in no fixed order");
  if (options.sums == Sums::pushed) return;
  std::string way = options.sums == Sums::by_nccl ? "sums by NCCL" : "sums by the host";
  if (options.deterministic)
    throw Error(Errc::unsupported,
                way + " are not added in the order of blocks, as deterministic sums are: ask for one of both");
  if (shared) throw Error(Errc::unsupported, way + " need a GPU for each rank: start fewer ranks");
  if ((options.sums == Sums::by_nccl) != (options.links == Links::nccl))
    throw Error(Errc::unsupported, options.sums == Sums::by_nccl
                                       ? "sums by NCCL need ranks that send to each other by NCCL"
                                       : "ranks that send to each other by NCCL add by it, too, or push their sums through it");
}

// All processes of a host decide alike what goes between them.
bool State::needs_courier() const {
  if (hall->hosts() > 1 || (options.sums == Sums::by_host && hall->ranks() > 1)) return true;
  for (int from = hall->first_rank(); from < hall->first_rank() + hall->local_ranks(); from++)
    for (int to = 0; to < hall->ranks(); to++)
      if (link(from, to) == Link::carried) return true;
  return false;
}

bool State::maps_memory() const { return hall->near_processes() > 1 && by_memory() && hall->maps(); }

Link State::link(int from, int to) const {
  if (from == to) return Link::memory;
  if (nccl) return Link::nccl;
  if (arena) return arena->of_member[std::size_t(to)] && !options.all_far ? Link::memory : Link::carried;
  if (options.links == Links::host || !hall->is_near(to)) return Link::carried;
  if (!hall->is_local(to)) return hall->maps() ? Link::memory : Link::carried;
  auto device = [&](int r) { return ranks[std::size_t(r - hall->first_rank())]->device; };
  return reach.between(device(from), device(to)) ? Link::memory : Link::carried;
}

Carrier State::carrier(int from, int to) const {
  if (arena && from != to) return Carrier::nvshmem;
  Link way = link(from, to);
  if (way == Link::nccl) return Carrier::nccl;
  if (way == Link::carried) return hall->is_local(to) ? Carrier::host_memory : Carrier::mpi;
  return hall->is_local(to) ? Carrier::peer_memory : Carrier::cuda_ipc;
}

// --- rows --------------------------------------------------------------------------------------------------------------------

VectorAddress State::outbox(RankState& r, Rank& rank, int physical, const ExchangePeer& p) {
  u32 sent = rank.pushed[physical];
  bool placed = sends_placed(p.rank);
  i32 staged = placed ? 0 : p.send_count;
  VectorAddress at = rows_and_flag(static_cast<char*>(take_pinned(r, bytes_of_box(staged))), staged, flag_word(sent, false));
  if (placed && p.send_count > 0) {
    std::string what = "what is sent of '" + rank.vectors()[physical].name + "'";
    at.rows = static_cast<double*>(take_memory(r, std::size_t(p.send_count) * sizeof(double), what));
    r.tables.push_back(at.rows);
  }
  Courier::RowsBox box{at.rows, at.flags, p.send_count,   sent + 1,       r.index,
                       p.rank,  physical, p.remote_first, p.remote_index, placed};
  if (arena) at.rows = put_by_nvshmem(box, r, p);
  courier->add(box);
  return at;
}

// All processes have the same options, and the transports have agreed: so the receiver knows how it comes.
bool State::sends_placed(int rank) const {
  if (arena || hall->is_local(rank) || !courier->reaches_processes() || options.staging == Staging::always) return false;
  return options.staging == Staging::never || courier->transport().reaches_devices();
}

// What comes over a transport stays here until the device has it.
void State::expect_rows(RankState& r, Rank& rank, int physical, int peer) {
  const ExchangePeer& p = rank.vectors()[physical].exchange->peers[std::size_t(peer)];
  if (hall->is_local(p.rank) || arena) return;
  i32 staged = sends_placed(p.rank) ? 0 : p.recv_count;
  VectorAddress box = rows_and_flag(static_cast<char*>(take_pinned(r, bytes_of_box(staged))), staged, 0);
  courier->expect_rows(r.index, physical, peer, box.rows, box.flags);
}

// --- sums --------------------------------------------------------------------------------------------------------------------

Packet* State::outbox(RankState& r, Rank& rank, int slot, const std::vector<int>& to) {
  const ReductionMemory& d = r.reductions[slot];
  u32 started = rank.reductions()[slot].started;
  std::size_t count = 2 * std::size_t(d.parts) * d.values;
  auto* packets = static_cast<Packet*>(take_pinned(r, count * sizeof(Packet)));
  std::fill_n(packets, count, Packet{0.0, flag_word(started - 2, false)});
  if (d.own_parts == 0) return packets;
  Courier::SumsBox box{packets, d.parts, d.values, d.place * d.values, d.own_parts * d.values, started + 1, r.index, slot, to};
  if (arena) put_by_nvshmem(box, r);
  courier->add(box);
  return packets;
}

Packet* State::summed_outbox(RankState& r, Rank& rank, int slot) {
  const ReductionMemory& d = r.reductions[slot];
  u32 started = rank.reductions()[slot].started;
  std::size_t count = 2 * std::size_t(d.values);
  auto packets = [&] {
    auto* p = static_cast<Packet*>(take_pinned(r, count * sizeof(Packet)));
    std::fill_n(p, count, Packet{0.0, flag_word(started - 2, false)});
    return p;
  };
  Packet* outbox = packets();
  courier->add(Courier::SummedBox{rank, outbox, packets(), d.values, slot, started + 1});
  return outbox;
}

// Other hosts' halls have a place for it, too.
void State::tell_place(int rank, Published what, int index, const BlockPlace& place) {
  for (int h = 0; h < hall->hosts(); h++)
    if (h != hall->host())
      courier->transport().send(hall->leader(h), {.kind = Message::memory, .slot = index, .from = rank, .place = i32(what)},
                                &place, sizeof place);
}

void State::expect_sums(RankState& r, Rank& rank, int slot) {
  const ReductionMemory& d = r.reductions[slot];
  if (hall->local_ranks() == rank.size() || arena) return;
  tell_place(r.index, Published::reduction, slot, {.block = -1, .first_part = d.place});
  std::size_t count = 2 * std::size_t(d.parts) * d.values;
  courier->expect_sums(r.index, slot, static_cast<Packet*>(take_pinned(r, count * sizeof(Packet))));
}

}  // namespace sordino::cuda
