#include "sordino/runtime/cuda/courier.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {
namespace {

u32 load(const u32* word) { return std::atomic_ref(*const_cast<u32*>(word)).load(std::memory_order_acquire); }

// What a network adapter has written to a device is not everywhere visible to a kernel that already runs there: where the
// driver says so, it has to be asked for.
void flush_adapter_writes(const RankState& r) {
  int ordering = 0, options = 0;
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&ordering, cudaDevAttrGPUDirectRDMAWritesOrdering, r.device));
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&options, cudaDevAttrGPUDirectRDMAFlushWritesOptions, r.device));
  if (ordering < cudaGPUDirectRDMAWritesOrderingOwner && (options & cudaFlushGPUDirectRDMAWritesOptionHost))
    call("cudaDeviceFlushGPUDirectRDMAWrites",
         cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                            cudaFlushGPUDirectRDMAWritesToOwner));
}

// The tag of a packet, low half first on every machine that has GPUs; its value is complete when the tag is.
u32 tag_of(const Packet& p) { return load(reinterpret_cast<const u32*>(&p.tag)); }

}  // namespace

Courier::Courier(State& state, std::unique_ptr<Transport> transport)
    : state_(state),
      transport_(std::move(transport)),
      duty_([this] { return step(); }, [this] { return !transport_ || transport_->all_sent() || state_.hall->raised(); }) {
  if (transport_ && state.hall->hosts() > 1) bridge_ = std::make_unique<Bridge>(*state.hall, *transport_);
}

// --- its thread --------------------------------------------------------------------------------------------------------------

bool Courier::step() {
  bool moved = carry([this] {
    bool any = false;
    for (auto& box : rows_) any |= look(box);
    for (auto& box : sums_) any |= look(box);
    return any;
  });
  for (auto& box : summed_) moved |= carry([&] { return look(box); });
  moved |= carry([this] {
    bool any = transport_ && transport_->poll([this](const Message& m, const std::byte* data, std::size_t bytes) {
      take(m, data, bytes);
    }) > 0;
    receive_placed();
    return any;
  });
  return (bridge_ && carry([this] { return bridge_->step(); })) || moved;
}

/// What fails does not keep the rest from going on: others must hear of it.
bool Courier::carry(const std::function<bool()>& part) {
  try {
    return part();
  } catch (const std::exception&) {  // also where nobody here expects what has come: another program runs there
    state_.hall->propose(caught("what ranks send cannot be carried: ", {}));
    return false;
  }
}

// --- what is sent here -------------------------------------------------------------------------------------------------------

void Courier::add(const RowsBox& box) {
  std::lock_guard lock(duty_.mutex());
  rows_.push_back(box);
}

void Courier::add(const SumsBox& box) {
  std::lock_guard lock(duty_.mutex());
  sums_.push_back(box);
}

void Courier::add(const SummedBox& box) {
  std::lock_guard lock(duty_.mutex());
  summed_.push_back(box);
}

void Courier::forget_sums() {
  std::lock_guard lock(duty_.mutex());
  summed_.clear();
}

bool Courier::look(RowsBox& box) {
  u32 word = load(box.flag);
  if (!is_epoch(word, box.next)) return false;
  box.next++;
  std::size_t bytes = std::size_t(box.count) * sizeof(double);
  if (state_.hall->is_local(box.to)) {
    give_rows(box.to, box.vector, box.peer, box.place, box.rows, box.count, box.flag);
  } else if (box.put_flag) {
    state_.put_rows(box, word);
  } else {
    Message m{.kind = Message::halo,
              .slot = box.vector,
              .from = box.from,
              .to = box.to,
              .flag = word,
              .place = box.place,
              .peer = box.peer};
    int process = state_.hall->process_of(box.to);
    if (!box.placed || bytes == 0) {
      transport_->send(process, m, box.rows, bytes);
    } else {
      m.kind = Message::placed_halo;
      transport_->send(process, m, &bytes, sizeof bytes);
      call("cudaSetDevice", cudaSetDevice(state_.local(box.from).device));
      transport_->send_placed(process, box.rows, bytes);
    }
  }
  return true;
}

bool Courier::look(SumsBox& box) {
  i32 first = i32(box.next & 1) * box.parts * box.values + box.first;
  const Packet* packets = box.packets + first;
  for (i32 k = 0; k < box.count; k++)
    if (!is_epoch(tag_of(packets[k]), box.next)) return false;
  if (box.staging)
    state_.put_sums(box, packets, first);
  else
    send(box, packets, first);
  box.next++;
  return true;
}

void Courier::send(const SumsBox& box, const Packet* packets, i32 first) {
  for (int to : box.to)
    if (state_.hall->is_local(to)) {
      give_sums(to, box.slot, first, box.count, packets);
    } else {
      Message m{.kind = Message::reduction, .slot = box.slot, .from = box.from, .to = to, .place = first};
      transport_->send(state_.hall->process_of(to), m, packets, std::size_t(box.count) * sizeof(Packet));
    }
}

// --- sums by the host --------------------------------------------------------------------------------------------------------
// `next` counts what was started; what has not ended of that are the last `begun` epochs, two at most.

bool Courier::look(SummedBox& box) {
  bool started = start(box), ended = box.begun > 0 && end(box);
  return started || ended;
}

bool Courier::start(SummedBox& box) {
  const Packet* packets = box.packets + i64(box.next & 1) * box.values;
  std::vector<double> part;
  bool stop = false;
  for (i32 k = 0; k < box.values; k++) {
    u32 tag = tag_of(packets[k]);
    if (!is_epoch(tag, box.next)) return false;
    part.push_back(packets[k].value);
    stop |= tag & 1;
  }
  part.push_back(stop);
  state_.engine.summing()->start(box.rank, box.slot, box.next, std::move(part));
  box.next++;
  box.begun++;
  return true;
}

bool Courier::end(SummedBox& box) {
  u32 epoch = box.next - box.begun;
  const std::vector<double>* sum = nullptr;
  try {
    sum = state_.engine.summing()->result(box.rank, box.slot, epoch);
  } catch (...) {
    box.begun = 0;  // said once
    throw;
  }
  if (!sum) return false;
  i32 first = i32(epoch & 1) * box.values;
  for (i32 k = 0; k < box.values; k++) box.result[first + k] = {(*sum)[std::size_t(k)], flag_word(epoch, sum->back() > 0)};
  give_sums(box.rank.id(), box.slot, first, box.values, box.result + first);
  box.begun--;
  return true;
}

// --- what comes from other processes -----------------------------------------------------------------------------------------

void Courier::expect_rows(int rank, int vector, int peer, double* rows, u32* flag) {
  std::lock_guard lock(duty_.mutex());
  row_inboxes_[{rank, vector, peer}] = {rows, flag};
}

void Courier::expect_sums(int rank, int slot, Packet* packets) {
  std::lock_guard lock(duty_.mutex());
  sum_inboxes_[{rank, slot}] = packets;
}

void Courier::take(const Message& m, const std::byte* data, std::size_t bytes) {
  if (m.kind == Message::host_data) return state_.post(m.from, m.to, m.slot, {data, data + bytes});
  if (m.kind == Message::halo) {
    const Inbox& inbox = row_inboxes_.at({m.to, int(m.slot), m.peer});
    std::memcpy(inbox.rows, data, bytes);
    *inbox.flag = m.flag;
    return give_rows(m.to, int(m.slot), m.peer, m.place, inbox.rows, i32(bytes / sizeof(double)), inbox.flag);
  }
  if (m.kind == Message::memory) {
    BlockPlace place;
    std::memcpy(&place, data, std::min(bytes, sizeof place));
    return state_.hall->publish(m.from, Published(m.place), int(m.slot), place);
  }
  if (m.kind == Message::placed_halo) {
    Placed placed{m};
    std::memcpy(&placed.bytes, data, std::min(bytes, sizeof placed.bytes));
    return placed_.push_back(placed);
  }
  if (m.kind == Message::reduction) {
    Packet* inbox = sum_inboxes_.at({m.to, int(m.slot)}) + m.place;
    std::memcpy(inbox, data, bytes);
    return give_sums(m.to, int(m.slot), m.place, i32(bytes / sizeof(Packet)), inbox);
  }
  if (m.kind == Message::invitation) {
    Invitation invitation{};
    std::memcpy(&invitation, data, std::min(bytes, sizeof invitation));
    return state_.hall->invite(invitation);
  }
  if (bridge_) bridge_->hear(m, data, bytes);
}

void Courier::receive_placed() {
  for (const auto& [m, bytes] : placed_) {
    const Inbox& inbox = row_inboxes_.at({m.to, int(m.slot), m.peer});
    RankState& r = receiver(m.to);
    double* to = state_.vector_of(r, m.to, int(m.slot)).rows + m.place;
    transport_->receive_placed(state_.hall->process_of(m.from), to, bytes, [this, m, inbox] {
      *inbox.flag = m.flag;
      flush_adapter_writes(receiver(m.to));
      give_flag(m.to, int(m.slot), m.peer, inbox.flag);
    });
  }
  placed_.clear();
}

// --- into a device -----------------------------------------------------------------------------------------------------------
// Copies of a stream take place one after the other: so what says that all is there comes last.

RankState& Courier::receiver(int rank) const {
  RankState& r = state_.local(rank);
  call("cudaSetDevice", cudaSetDevice(r.device));
  return r;
}

void Courier::give_rows(int rank, int vector, int peer, i32 place, const double* rows, i32 count, const u32* flag) {
  RankState& r = receiver(rank);
  VectorAddress there = state_.vector_of(r, rank, vector);
  if (count > 0)
    call("cudaMemcpyAsync",
         cudaMemcpyAsync(there.rows + place, rows, std::size_t(count) * sizeof(double), cudaMemcpyHostToDevice, r.courier));
  give_flag(rank, vector, peer, flag);
}

void Courier::give_flag(int rank, int vector, int peer, const u32* flag) {
  RankState& r = receiver(rank);
  VectorAddress there = state_.vector_of(r, rank, vector);
  call("cudaMemcpyAsync",
       cudaMemcpyAsync(there.flags + peer * flag_stride, flag, sizeof(u32), cudaMemcpyHostToDevice, r.courier));
}

void Courier::give_sums(int rank, int slot, i32 first, i32 count, const Packet* packets) {
  RankState& r = receiver(rank);
  Packet* there = state_.packets_of(r, rank, slot) + first;
  auto copy = [&](void* to, const void* from) {
    call("cudaMemcpy2DAsync", cudaMemcpy2DAsync(to, sizeof(Packet), from, sizeof(Packet), sizeof(u64), std::size_t(count),
                                                cudaMemcpyHostToDevice, r.courier));
  };
  copy(&there->value, &packets->value);
  copy(&there->tag, &packets->tag);
}

}  // namespace sordino::cuda
