#include "sordino/runtime/cuda/state.hpp"

#include <cstdio>
#include <new>

#include "sordino/runtime/cuda/mark.hpp"
#include "sordino/runtime/cuda/peers.hpp"

namespace sordino::cuda {
namespace {

template <class T>
T* pinned(RankState* r, unsigned flags) {
  void* p = nullptr;
  call("cudaHostAlloc", cudaHostAlloc(&p, sizeof(T), flags));
  if (r) r->counters.allocations++;
  return new (p) T{};
}

}  // namespace

State::State(CudaEngine& e, const Options& o) : engine(e), options(o), devices(chosen_devices(o.devices)) {
  if (options.ranks <= 0) options.ranks = int(devices.size());
  if (options.ranks > EngineWindow::most_ranks)
    bad_argument("the cuda engine takes at most " + std::to_string(EngineWindow::most_ranks) + " ranks");
  if (int(devices.size()) > options.ranks) devices.resize(options.ranks);
  shared = options.sharing == Sharing::always || (options.sharing == Sharing::automatic && options.ranks > int(devices.size()));
  enable_peers(devices);  // ranks push into each other's memory
  OnDevice on(devices[0]);
  window = pinned<EngineWindow>(nullptr, cudaHostAllocPortable | cudaHostAllocMapped);
  try {
    for (int i = 0; i < options.ranks; i++) {
      ranks.push_back(std::make_unique<RankState>());
      set_up(*ranks.back(), i, devices[i % devices.size()]);
      public_ranks.push_back(std::make_unique<Rank>(engine, i));
    }
    team = std::make_unique<ThreadTeam>(options.ranks);
  } catch (...) {
    release();
    throw;
  }
}

void State::set_up(RankState& r, int index, int device) {
  r.index = index;
  r.device = device;
  OnDevice on(device);
  int threads = 0;
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&r.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  r.grid_limit = r.multiprocessors * (threads / block_threads);
  try {
    prepare_kernels();
  } catch (const Error& error) {
    throw Error(Errc::unsupported, "this build has no code for device " + std::to_string(device) + " (" + error.what() +
                                       "): set SORDINO_CUDA_ARCHITECTURES to its compute capability and build again");
  }
  call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
  r.staging = pinned<Upload>(&r, cudaHostAllocPortable);
  r.window = pinned<Window>(&r, cudaHostAllocPortable | cudaHostAllocMapped);
  r.control = static_cast<Upload*>(take_memory(r, sizeof(Upload), "a rank's scalars"));
}

void State::release() {
  for (auto& r : ranks) free_memory(*r);
  ranks.clear();
  cudaFreeHost(window);
}

void State::end_team() {
  if (team && team->stuck()) lost = true;
  team.reset();
}

State::~State() {
  if (!lost) {
    release();
    return;
  }
  // Who never came back may still touch his memory: let him keep it.
  for (auto& r : ranks) r.release();
  for (auto& r : public_ranks) r.release();
}

u64 State::all_heartbeats() const {
  u64 sum = 0;
  for (int i = 0; i < options.ranks; i++) {
    volatile const auto& b = window->beats[i];
    sum += b.host + b.device;
  }
  return sum;
}

void State::patience_lost(Rank& rank, const std::string& what) {
  std::string who;
  for (auto& r : ranks)
    if (!r->waiting.load(std::memory_order_relaxed))
      who += (who.empty() ? "; still busy: rank " : ", ") + std::to_string(r->index);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", options.timeout);
  throw Error(Errc::peer_failed, std::string("waited ") + seconds + " s without any progress for " + what + who + " (rank " +
                                     std::to_string(rank.id()) + " gave up)");
}

void State::raise(Errc code, const std::string& cause) {
  if (!fault.raise(code, cause)) return;
  std::atomic_ref<u32>(window->abort).store(1, std::memory_order_release);  // kernels that wait leave
}

}  // namespace sordino::cuda
