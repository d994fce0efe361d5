#include "sordino/runtime/cuda/team_state.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/neighbours.hpp"
#include "sordino/runtime/cuda/peers.hpp"

namespace sordino::cuda {

TeamState::TeamState(const TeamOptions& o, std::unique_ptr<Hall> given) : options(o), hall(std::move(given)) {
  try {
    build();
    if (several_processes()) share_windows();
  } catch (...) {
    if (several_processes()) hall->raise(caught("process " + std::to_string(hall->process()) + ": ", {}));
    release();
    if (several_processes()) throw hall->error();
    throw;
  }
}

void TeamState::build() {
  if (hall && hall->hosts() > 1)
    throw Error(Errc::unsupported, "the ranks of a team store into each other's memory, and these are on several hosts");
  devices = devices_of(options.devices, hall.get());
  if (hall) options.ranks = hall->local_ranks();
  if (options.ranks <= 0) options.ranks = int(devices.size());
  if ((hall ? hall->ranks() : options.ranks) > DeviceTeam::most_ranks)
    bad_argument("a team takes at most " + std::to_string(DeviceTeam::most_ranks) + " ranks");
  if (!hall) hall = std::make_unique<Hall>(options.ranks);
  if (int(devices.size()) > options.ranks) devices.resize(std::size_t(options.ranks));
  if (several_processes()) {
    if (options.ranks > int(devices.size())) refuse_few_devices(options.ranks, int(devices.size()));
    tell_devices(*hall, devices);
    meet();  // before anything is taken on the devices: two processes on one may already fail at that, and say less
    refuse_shared_devices(*hall);
  }
  options.window = std::max<std::size_t>(options.window, 1 << 16);
  need_peers(enable_peers(devices), devices);
  OnDevice on(devices[0]);
  call("cudaHostRegister", cudaHostRegister(&hall->pulse(), sizeof(Pulse), cudaHostRegisterPortable | cudaHostRegisterMapped));
  pulse_is_pinned = true;
  const int first = hall->first_rank();
  for (int i = 0; i < options.ranks; i++) {
    members.push_back({.device = devices[std::size_t(i) % devices.size()]});
    set_up(members.back());
    ranks.emplace_back(*this, first + i);
  }
  for (int i = 0; i < options.ranks; i++) {
    DeviceTeam& t = members[std::size_t(i)].team;
    t.rank = first + i;
    t.ranks = hall->ranks();
    for (int p = 0; p < options.ranks; p++) t.window[first + p] = members[std::size_t(p)].window;
  }
  taken = aligned(i64(sizeof(TeamControl)));
  if (!is_alone()) threads = std::make_unique<ThreadTeam>(options.ranks);
}

void TeamState::set_up(Member& m) {
  OnDevice on(m.device);
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&m.multiprocessors, cudaDevAttrMultiProcessorCount, m.device));
  call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking));
  std::size_t available = 0, total = 0, bytes = options.window;
  if (several_processes()) bytes = (bytes + mapped_unit - 1) / mapped_unit * mapped_unit;
  call("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
  if (bytes > available)
    throw Error(Errc::unsupported, "device " + std::to_string(m.device) + " has too little memory for a window of " +
                                       std::to_string(bytes) + " bytes: " + std::to_string(available) + " available");
  call("cudaMalloc", cudaMalloc(reinterpret_cast<void**>(&m.window), bytes));
  TeamControl control;
  control.patience = options.timeout > 0 ? u32(std::max(1.0, options.timeout * 1e9 / 1024)) : 0;
  call("cudaMemsetAsync", cudaMemsetAsync(m.window, 0, bytes, m.stream));
  call("cudaMemcpyAsync", cudaMemcpyAsync(m.window, &control, sizeof control, cudaMemcpyHostToDevice, m.stream));
  call("cudaStreamSynchronize", cudaStreamSynchronize(m.stream));
  m.team.control = reinterpret_cast<TeamControl*>(m.window);
  void* pulse = nullptr;
  call("cudaHostGetDevicePointer", cudaHostGetDevicePointer(&pulse, &hall->pulse(), 0));
  m.team.engine = static_cast<Pulse*>(pulse);
}

// Each rank maps all windows on its own device. Nobody goes on until all could.
void TeamState::share_windows() {
  for (std::size_t i = 0; i < members.size(); i++) {
    OnDevice on(members[i].device);
    share_memory(*hall, ranks[i].id(), 0, members[i].window);
  }
  meet();
  for (Member& m : members) {
    OnDevice on(m.device);
    for (int other = 0; other < hall->ranks(); other++) {
      if (hall->is_local(other)) continue;
      m.mapped.push_back(map_memory(*hall, m.team.rank, m.device, other, 0));
      m.team.window[other] = m.mapped.back();
    }
  }
  meet();
}

// Errors are not thrown from here: this runs in destructors, perhaps after a device has failed.
void TeamState::release() {
  int before = 0;
  cudaGetDevice(&before);
  for (Member& m : members) {
    cudaSetDevice(m.device);
    if (m.stream) cudaStreamSynchronize(m.stream);
  }
  if (started) {
    cudaEventSynchronize(started);
    cudaEventDestroy(started);
  }
  for (Member& m : members) {
    cudaSetDevice(m.device);
    for (char* window : m.mapped) cudaIpcCloseMemHandle(window);
  }
  bool others_map = several_processes() && !wait_for_unmapping(*hall);
  for (Member& m : members) {
    cudaSetDevice(m.device);
    if (!others_map) cudaFree(m.window);  // else it goes with the process
    if (m.stream) cudaStreamDestroy(m.stream);
  }
  if (pulse_is_pinned) cudaHostUnregister(&hall->pulse());
  cudaSetDevice(before);
}

TeamState::~TeamState() {
  if (threads && threads->stuck()) lost = true;
  threads.reset();
  if (!lost)
    release();
  else
    hall.release();  // devices may still look at it
}

// --- ranks and processes -----------------------------------------------------------------------------------------------------

TeamState::Member& TeamState::member(int rank) {
  if (!hall->is_local(rank)) bad_argument("rank " + std::to_string(rank) + " of this team is not of this process");
  return members[std::size_t(rank - hall->first_rank())];
}

void TeamState::pass(Gate& gate, int of, const std::string& late) {
  constexpr double brief = 0.02;  // seconds: what begins together behind a gate begins at the same time
  u32 round = gate.enter(u32(of));
  for (double begin = seconds_now(); !gate.is_over(round);) {
    check();
    double waited = seconds_now() - begin;
    if (waited > options.longest) throw Error(Errc::peer_failed, late);
    if (waited < brief) {
      std::this_thread::yield();
    } else {
      look_for_lost(*hall);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

void TeamState::meet() {
  pass(hall->gate_of_processes(), hall->processes(),
       "the other processes do not come to where this one is: all make a team, "
       "and run it, together");
}

// What each process has made lies in the directory as the place of its first rank's only vector.
void TeamState::meet_alike() {
  hall->publish(hall->first_rank(), Published::vector, 0, {.offset = u64(taken), .flags = options.window});
  meet();
  BlockPlace first = hall->place(0, Published::vector, 0);
  for (int p = 1; p < hall->processes(); p++) {
    BlockPlace other = hall->place(hall->first_rank(p), Published::vector, 0);
    if (other.offset == first.offset && other.flags == first.flags) continue;
    auto of = [](const BlockPlace& b) {
      return std::to_string(b.offset) + " of " + std::to_string(b.flags) + " bytes of a window";
    };
    bad_argument("processes 0 and " + std::to_string(p) + " have taken " + of(first) + " and " + of(other) +
                 ": all make the same arrays, slots and signals in the same order");
  }
}

// --- failing -----------------------------------------------------------------------------------------------------------------

void TeamState::attempt(const std::string& who, const Cause& known, const std::function<void()>& work) {
  try {
    work();
  } catch (const PeerFailed&) {
  } catch (...) {
    Error e = caught("", known);
    std::string what = e.what();
    raise_or_lost(*hall, {e.code(), what.starts_with(who) ? what : who + what, e.cause()});  // kernels that wait leave
  }
}

void TeamState::tell_cause() {
  Error first = hall->error();
  if (told)
    throw Error(Errc::peer_failed, std::string("this team has failed before (") + first.what() + "): make a new one",
                first.cause());
  told = true;
  throw first;
}

void TeamState::wait_for_stream(const Member& m) {
  wait_for(m, [&] { return cudaStreamQuery(m.stream); });
}

void TeamState::wait_for_started() {
  if (!is_under_way) return;
  const OnDevice on(members[0].device);
  wait_for(members[0], [&] { return cudaEventQuery(started); });
  is_under_way = false;
  look_for_fault(members[0], hall->first_rank());
}

// After a fault all waits on devices end by themselves, soon. Never cudaStreamSynchronize: it would hide a lost device.
void TeamState::wait_for(const Member& m, const std::function<cudaError_t()>& query) {
  double begin = seconds_now(), failed_at = 0;
  for (int n = 0;; n++) {
    cudaError_t e = query();
    if (e == cudaSuccess) return;
    if (e != cudaErrorNotReady) call("a kernel of the device", e);
    cudaGetLastError();  // which is no error to be found by who looks next
    if (n < 1000) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    double now = seconds_now();
    if (failed_at == 0 && hall->raised()) failed_at = now;
    if (now - begin > options.longest || (failed_at > 0 && now - failed_at > options.timeout + 5)) {
      lost = true;
      throw Error(Errc::device, "device " + std::to_string(m.device) + " does not come back from a kernel");
    }
  }
}

void TeamState::look_for_fault(const Member& m, int rank) {
  if (std::atomic_ref<u32>(hall->pulse().abort).load(std::memory_order_acquire) == 0) return;
  TeamControl control;
  call("cudaMemcpyAsync", cudaMemcpyAsync(&control, m.window, sizeof control, cudaMemcpyDeviceToHost, m.stream));
  wait_for_stream(m);
  if (!control.fault) {
    if (control.halt) follow_fault();
    return;
  }
  const FaultRecord& f = control.cause;
  Cause known{.rank = rank};
  if (f.what != Wait::nothing) known.expected = f.expected, known.seen = f.seen;
  throw Error(Errc::peer_failed, "rank " + std::to_string(rank) + ": " + sentence(f), known);
}

// Kernels here left because those of another rank did; its host thread is about to say why.
void TeamState::follow_fault() {
  double begin = seconds_now();
  while (!hall->raised() && seconds_now() - begin < options.timeout + 5)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  check();
  throw Error(Errc::device, "the kernels of a device stopped without saying why");
}

std::string TeamState::sentence(const FaultRecord& f) const {
  std::string name = f.channel >= 0 && f.channel < i32(channels.size()) ? "'" + channels[std::size_t(f.channel)] + "'" : "?";
  std::string from = std::to_string(f.from), what = "a block of its own grid";
  if (f.what == Wait::nothing)
    return "more than " + from + " blocks of a grid started " + name + ", which was made for so many";
  if (f.what == Wait::reduction) what = "rank " + from + "'s part of " + name;
  if (f.what == Wait::halo) what = "rank " + from + "'s signal of " + name;
  char waited[32];
  std::snprintf(waited, sizeof waited, "%g", options.timeout);
  return "a kernel waited " + std::string(waited) + " s for " + what + ", epoch " + std::to_string(f.expected) + " (seen " +
         std::to_string(f.seen) + ")";
}

}  // namespace sordino::cuda
