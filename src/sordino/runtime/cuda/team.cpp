#include "sordino/runtime/cuda/team.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <new>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/peers.hpp"
#include "sordino/runtime/fault.hpp"
#include "sordino/runtime/threads.hpp"

namespace sordino::cuda {
namespace {

constexpr i64 alignment = 256;

}  // namespace

struct TeamState {
  struct Member {
    int device = 0, multiprocessors = 0;
    char* window = nullptr;
    cudaStream_t stream = nullptr;
    DeviceTeam team;
  };

  explicit TeamState(const TeamOptions& o);
  ~TeamState();
  void set_up(Member& m);
  void release();
  void raise(const Error& error);
  void wait_for_stream(const Member& m);
  void look_for_fault(const Member& m, int rank);
  [[noreturn]] void follow_fault();
  std::string sentence(const FaultRecord& cause) const;
  void check() const {
    if (fault.raised()) throw PeerFailed(fault.error());
  }

  TeamOptions options;
  std::vector<int> devices;
  std::vector<Member> members;
  std::vector<TeamRank> ranks;
  Pulse* engine = nullptr;  // pinned
  i64 taken = 0;
  std::vector<std::string> channels;  // names of slots and signals
  Fault fault;
  std::unique_ptr<ThreadTeam> threads;
  std::atomic<bool> lost{false};  // a device or thread did not come back: freeing what it uses would wait, or hurt
  struct {
    std::mutex mutex;
    std::condition_variable all_here;
    int inside = 0;
    u64 round = 0;
  } barrier;
};

TeamState::TeamState(const TeamOptions& o) : options(o), devices(chosen_devices(o.devices)) {
  if (options.ranks <= 0) options.ranks = int(devices.size());
  if (options.ranks > DeviceTeam::most_ranks)
    bad_argument("a team takes at most " + std::to_string(DeviceTeam::most_ranks) + " ranks");
  if (int(devices.size()) > options.ranks) devices.resize(std::size_t(options.ranks));
  options.window = std::max<std::size_t>(options.window, 1 << 16);
  need_peers(enable_peers(devices), devices);
  OnDevice on(devices[0]);
  void* p = nullptr;
  call("cudaHostAlloc", cudaHostAlloc(&p, sizeof(Pulse), cudaHostAllocPortable | cudaHostAllocMapped));
  engine = new (p) Pulse{};
  members.resize(std::size_t(options.ranks));
  try {
    for (std::size_t r = 0; r < members.size(); r++) {
      members[r].device = devices[r % devices.size()];
      set_up(members[r]);
      ranks.emplace_back(*this, int(r));
    }
  } catch (...) {
    release();
    throw;
  }
  for (std::size_t r = 0; r < members.size(); r++) {
    DeviceTeam& t = members[r].team;
    t.rank = i32(r);
    t.ranks = i32(members.size());
    t.engine = engine;
    t.control = reinterpret_cast<TeamControl*>(members[r].window);
    for (std::size_t p = 0; p < members.size(); p++) t.window[p] = members[p].window;
  }
  taken = (i64(sizeof(TeamControl)) + alignment - 1) / alignment * alignment;
  threads = std::make_unique<ThreadTeam>(options.ranks);
}

void TeamState::set_up(Member& m) {
  OnDevice on(m.device);
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&m.multiprocessors, cudaDevAttrMultiProcessorCount, m.device));
  call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking));
  std::size_t available = 0, total = 0, bytes = options.window;
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
}

// Errors are not thrown from here: this runs in destructors, perhaps after a device has failed.
void TeamState::release() {
  int before = 0;
  cudaGetDevice(&before);
  for (Member& m : members) {
    cudaSetDevice(m.device);
    if (m.stream) cudaStreamSynchronize(m.stream);
  }
  for (Member& m : members) {
    cudaSetDevice(m.device);
    cudaFree(m.window);
    if (m.stream) cudaStreamDestroy(m.stream);
  }
  cudaFreeHost(engine);
  cudaSetDevice(before);
}

TeamState::~TeamState() {
  if (threads && threads->stuck()) lost = true;
  threads.reset();
  if (!lost) release();
}

void TeamState::raise(const Error& error) {
  if (!fault.raise(error)) return;
  std::atomic_ref<u32>(engine->abort).store(1, std::memory_order_release);  // kernels that wait leave
  std::lock_guard lock(barrier.mutex);
  barrier.all_here.notify_all();
}

// After a fault all waits on devices end by themselves, soon. Never cudaStreamSynchronize: it would hide a lost device.
void TeamState::wait_for_stream(const Member& m) {
  double begin = seconds_now(), failed_at = 0;
  for (int n = 0;; n++) {
    cudaError_t e = cudaStreamQuery(m.stream);
    if (e == cudaSuccess) return;
    if (e != cudaErrorNotReady) call("a kernel of the device", e);
    if (n < 1000) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    double now = seconds_now();
    if (failed_at == 0 && fault.raised()) failed_at = now;
    if (now - begin > options.longest || (failed_at > 0 && now - failed_at > options.timeout + 5)) {
      lost = true;
      throw Error(Errc::device, "device " + std::to_string(m.device) + " does not come back from a kernel");
    }
  }
}

void TeamState::look_for_fault(const Member& m, int rank) {
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
  while (!fault.raised() && seconds_now() - begin < options.timeout + 5)
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

// --- a rank ----------------------------------------------------------------------------------------------------------------

int TeamRank::size() const { return int(state_.members.size()); }
int TeamRank::device() const { return state_.members[std::size_t(id_)].device; }
cudaStream_t TeamRank::stream() const { return state_.members[std::size_t(id_)].stream; }
const DeviceTeam& TeamRank::team() const { return state_.members[std::size_t(id_)].team; }

void TeamRank::load(const void* kernel) {
  cudaFuncAttributes attributes;
  call("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, kernel));
}

void TeamRank::launch(const Grid& grid, const void* kernel, void** arguments) {
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(grid.blocks));
  config.blockDim = dim3(unsigned(grid.threads));
  config.stream = stream();
  config.attrs = attributes;
  if (grid.resident) {
    // What cannot be launched is not tried: tools report calls that fail, even where that is expected.
    int at_once = 0;
    call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, grid.threads, 0));
    if (grid.blocks > at_once * state_.members[std::size_t(id_)].multiprocessors)
      call("cudaLaunchKernelExC", cudaErrorCooperativeLaunchTooLarge);
    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
    attributes[config.numAttrs++].val.cooperative = 1;
  }
  if (grid.chained) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  call("cudaLaunchKernelExC", cudaLaunchKernelExC(&config, kernel, arguments));
}

void TeamRank::wait() {
  const auto& mine = state_.members[std::size_t(id_)];
  state_.wait_for_stream(mine);
  state_.look_for_fault(mine, id_);
  state_.check();
}

void TeamRank::barrier() {
  auto& b = state_.barrier;
  std::unique_lock lock(b.mutex);
  u64 round = b.round;
  if (++b.inside == size()) {
    b.inside = 0;
    b.round++;
    b.all_here.notify_all();
    return;
  }
  auto over = [&] { return b.round != round || state_.fault.raised(); };
  bool in_time = b.all_here.wait_for(lock, std::chrono::duration<double>(state_.options.longest), over);
  if (b.round != round) return;
  lock.unlock();
  state_.check();
  if (!in_time) throw Error(Errc::peer_failed, "the host threads of the other ranks do not come to a barrier");
}

// --- the team --------------------------------------------------------------------------------------------------------------

Team::Team(const TeamOptions& options) : state_(std::make_shared<TeamState>(options)) {}
Team::~Team() = default;

int Team::size() const { return int(state_->members.size()); }
int Team::device(int rank) const { return state_->members[std::size_t(rank)].device; }
bool Team::shares_devices() const { return state_->devices.size() < state_->members.size(); }
const DeviceTeam& Team::on(int rank) const { return state_->members[std::size_t(rank)].team; }

i64 Team::take(i64 bytes) {
  i64 at = state_->taken, end = at + (bytes + alignment - 1) / alignment * alignment;
  if (bytes < 0 || end > i64(state_->options.window))
    bad_argument("a window of " + std::to_string(state_->options.window) + " bytes has no place for " + std::to_string(bytes) +
                 " more: set TeamOptions::window");
  state_->taken = end;
  return at;
}

void Team::copy(int rank, void* to, const void* from, std::size_t bytes, bool to_device) {
  auto& m = state_->members[std::size_t(rank)];
  OnDevice on(m.device);
  auto kind = to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, kind, m.stream));
  state_->wait_for_stream(m);
}

TeamSlots Team::slots(const std::string& name, int values, int most_blocks) {
  if (values < 1 || values > most_values || most_blocks < 1)
    bad_argument("slots are for 1 to " + std::to_string(most_values) + " values and 1 block or more, not for " +
                 std::to_string(values) + " and " + std::to_string(most_blocks));
  TeamSlots s;
  s.packets = array<Packet>(2 * size() * values);
  s.partials = array<Packet>(i64(values) * most_blocks);
  s.epoch = array<u32>(1);
  s.values = values;
  s.most_blocks = most_blocks;
  s.channel = i32(state_->channels.size());
  state_->channels.push_back(name);
  u32 first = state_->options.first_epoch;
  // No packet may look like one of the next two epochs.
  std::vector<Packet> old(std::size_t(std::max(s.packets.count, s.partials.count)), {0.0, flag_word(first - 2, false)});
  for (int r = 0; r < size(); r++) {
    write(r, s.packets, old.data(), s.packets.count);
    write(r, s.partials, old.data(), s.partials.count);
    write(r, s.epoch, &first, 1);
  }
  return s;
}

TeamSignals Team::signals(const std::string& name) {
  TeamSignals s;
  s.flags = array<u32>(i64(size()) * flag_stride);
  s.sent = array<u32>(size());
  s.seen = array<u32>(size());
  s.ticket = array<u32>(size());
  s.channel = i32(state_->channels.size());
  state_->channels.push_back(name);
  u32 first = state_->options.first_epoch;
  std::vector<u32> words(std::size_t(s.flags.count), flag_word(first, false)), epochs(std::size_t(size()), first);
  for (int r = 0; r < size(); r++) {
    write(r, s.flags, words.data(), s.flags.count);
    write(r, s.sent, epochs.data(), size());
    write(r, s.seen, epochs.data(), size());
  }
  return s;
}

void Team::run(const std::function<void(TeamRank&)>& job) {
  TeamState& s = *state_;
  if (s.fault.raised()) {
    Error first = s.fault.error();
    throw Error(Errc::peer_failed, std::string("this team has failed before (") + first.what() + "): make a new one",
                first.cause());
  }
  auto guarded = [keep = state_, job](int i) {  // a thread that does not come back still has what it uses
    TeamState& s = *keep;
    std::string me = "rank " + std::to_string(i) + ": ";
    auto& member = s.members[std::size_t(i)];
    auto attempt = [&](const std::function<void()>& work) {
      try {
        work();
      } catch (const PeerFailed&) {
      } catch (...) {
        Error e = caught("", {.rank = i});
        std::string what = e.what();
        s.raise({e.code(), what.starts_with(me) ? what : me + what, e.cause()});
      }
    };
    attempt([&] {
      call("cudaSetDevice", cudaSetDevice(member.device));
      job(s.ranks[std::size_t(i)]);
    });
    attempt([&] {
      s.wait_for_stream(member);
      s.look_for_fault(member, i);
    });
  };
  s.threads->run(guarded, [&] { return s.fault.raised() ? s.options.timeout + 10 : -1.0; });
  if (s.fault.raised()) throw s.fault.error();
}

}  // namespace sordino::cuda
