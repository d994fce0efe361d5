#include "sordino/runtime/cuda/state.hpp"

#include <cstdio>
#include <new>

#include "sordino/base/parallel.hpp"
#include "sordino/runtime/cuda/mark.hpp"
#include "sordino/runtime/cuda/neighbours.hpp"
#include "sordino/runtime/cuda/peers.hpp"
#include "sordino/runtime/cuda/rows.hpp"

namespace sordino::cuda {
namespace {

// What the device's description says; what it does not say is an H200's.
Pace pace_of(int device) {
  Pace pace;
  auto attribute = [&](cudaDeviceAttr a) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, a, device) != cudaSuccess) cudaGetLastError();
    return double(value);
  };
  constexpr double attained = 0.82;  // of what the memory could do
  double khz = attribute(cudaDevAttrMemoryClockRate), bits = attribute(cudaDevAttrGlobalMemoryBusWidth);
  if (khz > 0 && bits > 0) pace.memory_rate = attained * 2 * khz * 1e3 * bits / 8;  // two words a clock
  double multiprocessors = attribute(cudaDevAttrMultiProcessorCount), clock = attribute(cudaDevAttrClockRate);
  double slower = attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio);  // double precision than single
  if (clock > 0 && slower > 0) pace.flop_rate = multiprocessors * clock * 1e3 * 128 * 2 / slower;
  return pace;
}

/// What a rank and its device tell each other by.
struct Pinned {
  Upload staging{};
  Window window{};
  alignas(sordino::Arena::alignment) char notes[RankState::notes_at_once];
};

}  // namespace

State::State(CudaEngine& e, const Options& o, std::unique_ptr<Hall> given, std::unique_ptr<Transport> transport)
    : engine(e), options(o), hall(std::move(given)) {
  try {
    build(std::move(transport));
    if (several_processes() && by_memory()) join_processes();
    if (several_processes()) meet_processes();  // nobody sends anything to ranks that are not there yet
    if (courier && !needs_courier()) courier.reset();
    if (courier) courier->rest();
  } catch (const Error& error) {
    if (several_processes())
      hall->raise({error.code(), "process " + std::to_string(hall->process()) + ": " + error.what(), error.cause()});
    release();
    if (several_processes()) throw hall->error();
    throw;
  } catch (...) {
    if (several_processes()) hall->raise({Errc::peer_failed, "process " + std::to_string(hall->process()) + " failed"});
    release();
    throw;
  }
}

void State::build(std::unique_ptr<Transport> transport) {
  devices = devices_of(options.devices, hall.get());
  if (hall) options.ranks = hall->local_ranks();
  if (options.ranks <= 0) options.ranks = int(devices.size());
  if (options.ranks > Pulse::most_ranks)
    bad_argument("the cuda engine takes at most " + std::to_string(Pulse::most_ranks) + " ranks");
  if (!hall) hall = std::make_unique<Hall>(options.ranks);
  if (several_processes()) mail = std::make_unique<HallMail>(*hall);
  if (transport) {
    courier = std::make_unique<Courier>(*this, std::move(transport));
    courier->work();  // other hosts are met through it
  } else if (hall->hosts() > 1) {
    throw Error(Errc::unsupported, "the ranks are on several hosts, and there is no transport between them");
  }
  if (int(devices.size()) > options.ranks) devices.resize(options.ranks);
  shared = options.sharing == Sharing::always || (options.sharing == Sharing::automatic && options.ranks > int(devices.size()));
  if (shared && several_processes()) refuse_few_devices(options.ranks, int(devices.size()));
  check_sums();
  if (several_processes()) introduce_devices();
  find_ways();
  OnDevice on(devices[0]);
  call("cudaHostRegister", cudaHostRegister(&hall->pulse(), sizeof(Pulse), cudaHostRegisterPortable | cudaHostRegisterMapped));
  pulse_is_pinned = true;
  // Of all ranks at once: a call takes a millisecond and a half where there are four devices.
  const std::size_t bytes = std::size_t(options.ranks) * sizeof(Pinned);
  call("cudaHostAlloc", cudaHostAlloc(&pinned, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
  for (int i = 0; i < options.ranks; i++) {
    Pinned* const mine = new (static_cast<Pinned*>(pinned) + i) Pinned;
    RankState& r = *ranks.emplace_back(std::make_unique<RankState>());
    r.staging = &mine->staging, r.window = &mine->window, r.spare_notes = mine->notes;
    public_ranks.push_back(std::make_unique<Rank>(engine, hall->first_rank() + i));
  }
  auto device_of = [&](i64 i) { return devices[std::size_t(i) % devices.size()]; };
  auto some = [&](i64 begin, i64 end) {
    if (begin > 0) call("cudaSetDevice", cudaSetDevice(device_of(begin)));  // of a thread that ends; else it goes back to 0
    for (i64 i = begin; i < end; i++) set_up(*ranks[std::size_t(i)], hall->first_rank() + int(i), device_of(i));
  };
  for_parts(0, options.ranks, some, 1, options.ranks);  // each device's driver calls beside the others'
  team = std::make_unique<ThreadTeam>(options.ranks);
  if (nccl) connect_nccl();
  rows = std::make_unique<CudaRows>(*this);
}

void State::set_up(RankState& r, int index, int device) {
  r.index = index;
  r.device = device;
  OnDevice on(device);
  int threads = 0;
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&r.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  r.grid_limit = r.multiprocessors * (threads / block_threads);
  r.pace = pace_of(device);
  try {
    prepare_kernels();
  } catch (const Error& error) {
    throw Error(Errc::unsupported, "this build has no code for device " + std::to_string(device) + " (" + error.what() +
                                       "): set SORDINO_CUDA_ARCHITECTURES to its compute capability and build again");
  }
  for (cudaStream_t* s : {&r.stream, &r.courier, &r.copies})
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  void* pulse = nullptr;
  call("cudaHostGetDevicePointer", cudaHostGetDevicePointer(&pulse, &hall->pulse(), 0));
  r.pulse = static_cast<Pulse*>(pulse);
  r.control = reinterpret_cast<Upload*>(take_kept(r, sizeof(Upload), "a rank's scalars"));
  call("cudaMemsetAsync",
       cudaMemsetAsync(r.control, 0, sizeof(Upload), r.stream));  // reports have scalars that nobody set, too
}

void State::release() {
  if (courier) {
    if (hall->raised() || hall->has_proposal()) {  // what failed is told first
      courier->work();
      courier->rest();
    }
    courier->stop();
  }
  if (nccl)
    for (auto& r : ranks) drain(*r);
  for (auto& r : ranks) leave_mapped(*r);
  bool others_map = several_processes() && !wait_for_unmapping(*hall);
  leave_nccl(others_map);
  leave_nvshmem(others_map);
  rows.reset();
  for (auto& r : ranks) free_memory(*r, others_map);
  ranks.clear();
  cudaFreeHost(pinned);
  pinned = nullptr;
  if (pulse_is_pinned) cudaHostUnregister(&hall->pulse());
}

void State::end_team() {
  if (courier) courier->forget_sums();
  if (team && team->stuck()) lost = true;
  team.reset();
}

State::~State() {
  if (!lost) {
    release();
    return;
  }
  // Who never came back may still touch his memory: let him keep it.
  abort_nccl();
  for (auto& r : ranks) r.release();
  for (auto& r : public_ranks) r.release();
  if (courier) courier->stop();
  courier.release();
  rows.release();
  nccl.release();
  hall.release();
  mail.release();
}

void State::patience_lost(Rank& rank, const std::string& what) {
  std::string who;
  for (int r = 0; r < hall->ranks(); r++)
    if (!hall->is_waiting(r)) who += (who.empty() ? "; still busy: rank " : ", ") + std::to_string(r);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", options.timeout);
  throw Error(Errc::peer_failed, std::string("waited ") + seconds + " s without any progress for " + what + who + " (rank " +
                                     std::to_string(rank.id()) + " gave up)");
}

void State::raise(const Error& error) { raise_or_lost(*hall, error); }

void State::tell_cause() {
  if (told.exchange(true)) throw failed_before(hall->error());
  throw hall->error();
}

}  // namespace sordino::cuda
