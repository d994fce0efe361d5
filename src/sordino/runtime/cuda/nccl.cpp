#include "sordino/runtime/cuda/nccl.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <thread>

#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {
namespace {

// ncclDataType_t, ncclRedOp_t, ncclResult_t
constexpr int bytes_of_data = 0, words_of_data = 5, float64 = 8, sum = 0;
constexpr int success = 0, in_progress = 7;

constexpr int oldest = 21800;  // the first to take a Config like this one

/// ncclConfig_t as version 2.18 has it, and what newer ones have in its place for an int; they add their own defaults to it.
struct Config {
  static constexpr int undefined = INT_MIN;
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = oldest;
  int blocking = 0;
  int cga_cluster_size = undefined, min_ctas = undefined, max_ctas = undefined;
  const char* net_name = nullptr;
  int split_share = undefined, traffic_class = undefined;
};

struct PlainId {  // ncclUniqueId, which is passed by value
  char internal[sizeof(Nccl::Id)];
};

template <class F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (!function) throw Error(Errc::unsupported, std::string("the NCCL here has no ") + name);
}

}  // namespace

struct Nccl::Functions {
  int (*get_version)(int*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  int (*get_unique_id)(PlainId*) = nullptr;
  int (*comm_init_rank_config)(void**, int, PlainId, int, Config*) = nullptr;
  int (*comm_get_async_error)(void*, int*) = nullptr;
  int (*comm_finalize)(void*) = nullptr;
  int (*comm_destroy)(void*) = nullptr;
  int (*comm_abort)(void*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
  int (*recv)(void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, void*, cudaStream_t) = nullptr;
};

Nccl::Nccl(const std::string& path) : f_(std::make_unique<Functions>()) {
  library_ = dlopen(path.empty() ? "libnccl.so.2" : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) throw Error(Errc::unsupported, std::string("there is no NCCL here: ") + dlerror());
  // It stays loaded: its threads may outlive what they were started for.
  find(library_, "ncclGetVersion", f_->get_version);
  find(library_, "ncclGetErrorString", f_->get_error_string);
  int v = 0;
  check("ncclGetVersion", f_->get_version(&v));
  version_ = std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
  if (v < oldest) throw Error(Errc::unsupported, "the NCCL here is version " + version_ + ", and 2.18 or later is needed");
  find(library_, "ncclGetUniqueId", f_->get_unique_id);
  find(library_, "ncclCommInitRankConfig", f_->comm_init_rank_config);
  find(library_, "ncclCommGetAsyncError", f_->comm_get_async_error);
  find(library_, "ncclCommFinalize", f_->comm_finalize);
  find(library_, "ncclCommDestroy", f_->comm_destroy);
  find(library_, "ncclCommAbort", f_->comm_abort);
  find(library_, "ncclGroupStart", f_->group_start);
  find(library_, "ncclGroupEnd", f_->group_end);
  find(library_, "ncclSend", f_->send);
  find(library_, "ncclRecv", f_->recv);
  find(library_, "ncclAllReduce", f_->all_reduce);
  find(library_, "ncclAllGather", f_->all_gather);
}

Nccl::Id Nccl::make_id() const {
  PlainId made{};
  check("ncclGetUniqueId", f_->get_unique_id(&made));
  return std::to_array(made.internal);
}

void Nccl::join(const Id& id, int ranks, int first_rank, const std::vector<int>& devices, const Look& look) {
  first_rank_ = first_rank;
  PlainId plain;
  std::copy(id.begin(), id.end(), plain.internal);
  check("ncclGroupStart", f_->group_start());
  int begun = success;
  for (std::size_t i = 0; i < devices.size(); i++) {
    OnDevice on(devices[i]);
    members_.push_back(std::make_unique<Member>());
    Config config;
    int result = f_->comm_init_rank_config(&members_[i]->comm, ranks, plain, first_rank + int(i), &config);
    if (begun == success && result != in_progress) begun = result;
  }
  int result = f_->group_end();
  check("ncclCommInitRankConfig", begun);
  for (auto& m : members_) settle("joining NCCL's communicator", m->comm, result, look);
}

// All of this process's ranks begin together, since they wait for each other. Who never begins to end his part is not waited
// for longer.
Nccl::~Nccl() {
  constexpr auto patience = std::chrono::seconds(5);
  std::vector<void*> comms;
  for (auto& m : members_)
    if (m->comm) comms.push_back(m->comm);
  if (comms.empty()) return;
  f_->group_start();
  for (void* comm : comms) f_->comm_finalize(comm);
  int begun = f_->group_end();
  auto begin = std::chrono::steady_clock::now();
  bool well = begun == success || begun == in_progress;
  for (void* comm : comms) {
    while (state_of(comm) == in_progress && std::chrono::steady_clock::now() - begin < patience)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    well &= state_of(comm) == success;
  }
  for (void* comm : comms) (well ? f_->comm_destroy : f_->comm_abort)(comm);
}

// --- calls -------------------------------------------------------------------------------------------------------------------

void Nccl::check(const char* name, int result) const {
  if (result != success && result != in_progress)
    throw Error(Errc::device, std::string(name) + " failed: " + f_->get_error_string(result));
}

int Nccl::state_of(void* comm) const {
  int state = success, result = f_->comm_get_async_error(comm, &state);
  return result == success ? state : result;
}

/// Until a call that has begun is done.
void Nccl::settle(const char* name, void* comm, int result, const Look& look) const {
  check(name, result);
  for (u32 n = 1;; n++) {
    int state = state_of(comm);
    if (state != in_progress) return check(name, state);
    std::this_thread::yield();
    if (n % 64 == 0) look();
  }
}

void* Nccl::comm_of(int rank) {
  void* comm = member(rank).comm;
  if (!comm) throw Error(Errc::peer_failed, "NCCL has been ended on rank " + std::to_string(rank));
  return comm;
}

template <class Start>
void Nccl::collective(const char* name, int rank, const Start& start) {
  std::lock_guard lock(member(rank).mutex);
  void* comm = comm_of(rank);
  settle(name, comm, start(comm), [] {});
}

void Nccl::all_reduce(int rank, double* values, i64 count, cudaStream_t stream) {
  collective("ncclAllReduce", rank,
             [&](void* comm) { return f_->all_reduce(values, values, std::size_t(count), float64, sum, comm, stream); });
}

void Nccl::all_gather(int rank, const double* part, double* whole, i64 count, cudaStream_t stream) {
  collective("ncclAllGather", rank,
             [&](void* comm) { return f_->all_gather(part, whole, std::size_t(count), float64, comm, stream); });
}

// --- groups ------------------------------------------------------------------------------------------------------------------

Nccl::Group::Group(Nccl& nccl, int rank, cudaStream_t stream)
    : nccl_(nccl), rank_(rank), lock_(nccl.member(rank).mutex), stream_(stream) {
  nccl_.comm_of(rank);
  nccl_.check("ncclGroupStart", nccl_.f_->group_start());
}

Nccl::Group::~Group() {
  if (open_) nccl_.f_->group_end();
}

void Nccl::Group::send(const void* from, i64 bytes, int to) {
  nccl_.check("ncclSend", nccl_.f_->send(from, std::size_t(bytes), bytes_of_data, to, nccl_.member(rank_).comm, stream_));
}

void Nccl::Group::receive(void* to, i64 bytes, int from) {
  nccl_.check("ncclRecv", nccl_.f_->recv(to, std::size_t(bytes), bytes_of_data, from, nccl_.member(rank_).comm, stream_));
}

void Nccl::Group::add_words(const void* from, void* to, i64 words) {
  nccl_.check("ncclAllReduce",
              nccl_.f_->all_reduce(from, to, std::size_t(words), words_of_data, sum, nccl_.member(rank_).comm, stream_));
}

void Nccl::Group::issue(const Look& look) {
  open_ = false;
  nccl_.settle("a group of NCCL's messages", nccl_.member(rank_).comm, nccl_.f_->group_end(), look);
}

// --- failing -----------------------------------------------------------------------------------------------------------------

std::string Nccl::error_of(int rank) {
  Member& m = member(rank);
  std::unique_lock lock(m.mutex, std::try_to_lock);
  int state = lock && m.comm ? state_of(m.comm) : success;
  return state == success || state == in_progress ? "" : f_->get_error_string(state);
}

void Nccl::abort(int rank) {
  Member& m = member(rank);
  std::unique_lock lock(m.mutex, std::try_to_lock);
  if (!lock || !m.comm) return;
  f_->comm_abort(m.comm);
  m.comm = nullptr;
}

}  // namespace sordino::cuda
