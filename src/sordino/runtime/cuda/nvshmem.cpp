#include "sordino/runtime/cuda/nvshmem.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {
namespace {

constexpr unsigned by_id = 1 << 3;   // how members find each other
constexpr int ready = 2;             // status: taking part, one member a GPU
constexpr std::size_t line = 256;    // arenas begin at a multiple of it
constexpr u64 own_heap = 256 << 20;  // bytes for NVSHMEM's own purposes

/// The first word of a struct says which version of it this is.
template <class T>
constexpr int version_of = (1 << 16) + int(sizeof(T));

// Structs of NVSHMEM 3, as the library has them.
struct UniqueId {  // nvshmemx_uniqueid_t
  int version = version_of<UniqueId>;
  char internal[124] = {};
};

struct UniqueIdArgs {  // nvshmemx_uniqueid_args_t
  int version = version_of<UniqueIdArgs>;
  UniqueId* id = nullptr;
  int member = 0, members = 0;
};

struct InitArgs {  // nvshmemx_init_args_t
  int version = version_of<InitArgs>;
  UniqueIdArgs by_id;
  char content[96] = {};
};

struct InitAttributes {  // nvshmemx_init_attr_t
  int version = version_of<InitAttributes>;
  void* mpi_comm = nullptr;
  InitArgs args;
};

static_assert(sizeof(UniqueId) == sizeof(Nvshmem::Id) && sizeof(UniqueIdArgs) == 24 && sizeof(InitArgs) == 128 &&
              sizeof(InitAttributes) == 144);

template <class F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (!function) throw Error(Errc::unsupported, std::string("the NVSHMEM here has no ") + name);
}

}  // namespace

struct Nvshmem::Functions {
  void (*vendor_get_version_info)(int*, int*, int*) = nullptr;
  int (*get_uniqueid)(UniqueId*) = nullptr;
  int (*set_attr_uniqueid_args)(int, int, const UniqueId*, InitAttributes*) = nullptr;
  int (*hostlib_init_attr)(unsigned, InitAttributes*) = nullptr;
  int (*init_status)() = nullptr;
  int (*my_pe)() = nullptr;
  int (*n_pes)() = nullptr;
  void* (*align)(std::size_t, std::size_t) = nullptr;
  void* (*ptr)(const void*, int) = nullptr;
  void (*putmem)(void*, const void*, std::size_t, int) = nullptr;
  void (*uint32_p)(u32*, u32, int) = nullptr;
  void (*quiet)() = nullptr;
};

// It stays loaded, for all to see, as NVIDIA's own programs have it: its plugins are loaded by it later.
Nvshmem::Nvshmem(const std::string& path) : f_(std::make_shared<Functions>()) {
  void* library = dlopen(path.empty() ? "libnvshmem_host.so.3" : path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) throw Error(Errc::unsupported, std::string("there is no NVSHMEM here: ") + dlerror());
  find(library, "nvshmemx_vendor_get_version_info", f_->vendor_get_version_info);
  int major = 0, minor = 0, patch = 0;
  f_->vendor_get_version_info(&major, &minor, &patch);
  version_ = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  if (major != 3) throw Error(Errc::unsupported, "the NVSHMEM here is version " + version_ + ", and version 3 is needed");
  find(library, "nvshmemx_get_uniqueid", f_->get_uniqueid);
  find(library, "nvshmemx_set_attr_uniqueid_args", f_->set_attr_uniqueid_args);
  find(library, "nvshmemx_hostlib_init_attr", f_->hostlib_init_attr);
  find(library, "nvshmemx_init_status", f_->init_status);
  find(library, "nvshmem_my_pe", f_->my_pe);
  find(library, "nvshmem_n_pes", f_->n_pes);
  find(library, "nvshmem_align", f_->align);
  find(library, "nvshmem_ptr", f_->ptr);
  find(library, "nvshmem_putmem", f_->putmem);
  find(library, "nvshmem_uint32_p", f_->uint32_p);
  find(library, "nvshmem_quiet", f_->quiet);
}

Nvshmem& Nvshmem::of_process(const std::string& path) {
  static std::mutex mutex;
  static Nvshmem* loaded = nullptr;  // for good: what it holds cannot be given up alone
  std::lock_guard lock(mutex);
  if (!loaded) loaded = new Nvshmem(path);
  return *loaded;
}

/// Calls from a thread of its own, which is left behind if `look` throws: what it uses outlives it.
void Nvshmem::wait(const std::string& what, const std::function<void()>& call, const Look& look) {
  if (lost_) throw Error(Errc::unsupported, "NVSHMEM never came back from a call in this process: start the processes again");
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread caller([done, call, device = device_] {
    cudaSetDevice(device);
    call();
    done->store(true, std::memory_order_release);
  });
  try {
    while (!done->load(std::memory_order_acquire)) {
      look();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  } catch (const Error& e) {
    lost_ = true;
    caller.detach();
    throw Error(e.code(), what + ": " + e.what());
  }
  caller.join();
}

// --- taking part -------------------------------------------------------------------------------------------------------------

void Nvshmem::prepare(u64 heap, bool one_host) {
  setenv("NVSHMEM_SYMMETRIC_SIZE", std::to_string(heap + own_heap).c_str(), 0);
  setenv("NVSHMEM_DISABLE_NVLS", "1", 0);              // nothing here is multicast
  setenv("NVSHMEM_DISABLE_LOCAL_ONLY_PROXY", "1", 0);  // a thread for what we never call, at work even as the process ends
  if (one_host) setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
}

Nvshmem::Id Nvshmem::make_id() const {
  UniqueId made;
  if (f_->get_uniqueid(&made) != 0) throw Error(Errc::unsupported, "NVSHMEM finds no network to meet its other members by");
  Id id;
  std::copy_n(reinterpret_cast<const char*>(&made), id.size(), id.begin());
  return id;
}

void Nvshmem::join(const Id& id, int member, int members, int device, const Look& look) {
  if (has_joined()) {
    if (member == member_ && members == members_ && device == device_) return;
    throw Error(Errc::unsupported, "NVSHMEM takes this process as rank " + std::to_string(member_) + " of " +
                                       std::to_string(members_) + " on device " + std::to_string(device_) +
                                       " until it ends, and not as rank " + std::to_string(member) + " of " +
                                       std::to_string(members) + " on device " + std::to_string(device));
  }
  device_ = device;
  auto result = std::make_shared<int>(0);
  auto begin = [f = f_, id, member, members, result] {
    UniqueId told;
    std::copy(id.begin(), id.end(), reinterpret_cast<char*>(&told));
    InitAttributes attributes;
    *result = f->set_attr_uniqueid_args(member, members, &told, &attributes);
    if (*result == 0) *result = f->hostlib_init_attr(by_id, &attributes);
  };
  wait("joining NVSHMEM", begin, look);
  if (*result != 0 || f_->init_status() != ready || f_->my_pe() != member || f_->n_pes() != members)
    throw Error(Errc::unsupported, "NVSHMEM could not be started: NVSHMEM_DEBUG=WARN says why");
  member_ = member;
  members_ = members;
}

// --- memory ------------------------------------------------------------------------------------------------------------------

int Nvshmem::find_arena(u64 bytes) const {
  auto fits = [bytes](const auto& a) { return !a->taken && a->bytes >= bytes; };
  return int(std::find_if(arenas_.begin(), arenas_.end(), fits) - arenas_.begin());
}

Arena& Nvshmem::take_arena(int number, u64 bytes, const Look& look) {
  if (number == arenas()) {
    auto made = std::make_shared<void*>(nullptr);
    wait("making an arena of NVSHMEM", [f = f_, bytes, made] { *made = f->align(line, bytes); }, look);
    if (!*made)
      throw Error(Errc::unsupported, "NVSHMEM has no room for an arena of " + std::to_string(bytes >> 20) +
                                         " MiB: ask for less (SORDINO_NVSHMEM_ARENA), or set NVSHMEM_SYMMETRIC_SIZE");
    auto arena = std::make_unique<Arena>();
    arena->memory = static_cast<char*>(*made);
    arena->bytes = bytes;
    for (int m = 0; m < members_; m++) arena->of_member.push_back(static_cast<char*>(f_->ptr(*made, m)));
    arenas_.push_back(std::move(arena));
  }
  if (number >= arenas() || arenas_[std::size_t(number)]->taken)
    throw Error(Errc::unsupported, "arena " + std::to_string(number) +
                                       " of NVSHMEM is not free in this process: destroy engines in all processes alike");
  Arena& arena = *arenas_[std::size_t(number)];
  arena.taken = true;
  arena.limit = bytes;
  arena.used = 0;
  return arena;
}

void Nvshmem::give_back(Arena& arena) { arena.taken = false; }

// --- storing into it ---------------------------------------------------------------------------------------------------------

void Nvshmem::put(void* to, const void* from, u64 bytes, int member) {
  std::lock_guard lock(storing_);
  f_->putmem(to, from, bytes, member);
}

void Nvshmem::put_word(u32* to, u32 word, int member) {
  std::lock_guard lock(storing_);
  f_->uint32_p(to, word, member);
}

void Nvshmem::complete() {
  std::lock_guard lock(storing_);
  f_->quiet();
}

}  // namespace sordino::cuda
