// Ranks of several processes of a host: who maps whose memory, their mail, and how they end together.
#include <algorithm>

#include "sordino/runtime/cuda/neighbours.hpp"
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {
namespace {

constexpr std::size_t first_bytes = 256;  // of a rank's first block, which everybody maps at once
constexpr double least_patience = 60;     // seconds: other processes may still be loading their kernels

}  // namespace

void State::meet_processes() {
  hall->meet(options.timeout > 0 ? std::max(options.timeout, least_patience) : 0);
  if (hall->raised()) throw Error(hall->code(), hall->cause());
}

// Before anything is taken on the devices: two processes on one may already fail at that, and say less.
void State::introduce_devices() {
  tell_devices(*hall, devices);
  meet_processes();
  if (options.sharing != Sharing::never) refuse_shared_devices(*hall);
}

// What one process cannot do, all learn of here, before they wait for each other anywhere else.
void State::join_processes() {
  for (auto& r : ranks) {
    OnDevice on(r->device);
    BlockPlace unused;
    take_for_name(*r, first_bytes, true, "what is shared with other processes", unused);
  }
  meet_processes();
  try {
    for (auto& r : ranks) {
      OnDevice on(r->device);
      for (int other = 0; other < hall->ranks(); other++)
        if (!hall->is_local(other) && hall->is_near(other)) mapped(*r, other, 0);
    }
  } catch (const Error&) {
    if (options.links == Links::memory || !courier) throw;
    hall->refuse_mapping();
  }
}

char* State::mapped(RankState& r, int owner, int block) {
  if (arena) return arena->of_member[std::size_t(owner)];
  char*& memory = r.mapped[{owner, block}];
  if (memory) return memory;
  memory = map_memory(*hall, r.index, r.device, owner, block);
  r.counters.allocations++;
  return memory;
}

// Before anybody frees what is mapped here; errors are not thrown, as a device may have failed.
void State::leave_mapped(RankState& r) {
  if (r.mapped.empty() && !arena) return;
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(r.device);
  if (r.stream) cudaStreamSynchronize(r.stream);
  for (auto& [whose, memory] : r.mapped)
    if (memory) cudaIpcCloseMemHandle(memory);
  r.mapped.clear();
  cudaSetDevice(before);
}

// Their signs of life and their causes reach other hosts by this process's courier. Runs are counted: a neighbour may have
// begun the next one, which waits for this process.
void State::stay_for_neighbours() {
  if (hall->hosts() == 1 || hall->process() != hall->leader(hall->host())) return;
  while (!hall->neighbours_have_ended() && !hall->raised()) {
    attend();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// --- mail --------------------------------------------------------------------------------------------------------------------

void State::post(int from, int to, i64 tag, std::vector<std::byte> data) {
  if (!hall->is_near(to)) {
    Message m{.kind = Message::host_data, .slot = tag, .from = from, .to = to};
    return courier->transport().send(hall->process_of(to), m, data.data(), data.size());
  }
  if (!hall->is_local(to)) return mail->send(from, to, tag, std::move(data));
  RankState& there = local(to);
  {
    std::lock_guard lock(mutex);
    there.mail.add(tag, {from, std::move(data)});
  }
  there.letters.fetch_add(1, std::memory_order_release);
}

bool State::take_mail() {
  if (!mail) return false;
  return mail->exchange(
      [this](int from, int to, i64 tag, std::vector<std::byte> data) { post(from, to, tag, std::move(data)); });
}

void State::attend() {
  if (!mail) return;
  take_mail();
  look_for_lost(*hall);
}

// A rank that ends its job waits for nothing more, so nobody here may look after what it has posted last.
void State::send_rest() {
  if (!mail) return;
  constexpr double pause = 0.5;  // seconds in which nobody took anything: the rest is sent during the next run
  double moved = seconds_now();
  while (!mail->all_sent() && !hall->raised() && seconds_now() - moved < pause) {
    if (take_mail())
      moved = seconds_now();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace sordino::cuda
