#include "sordino/comm/cuda/nccl.hpp"

#include <dlfcn.h>

#include "sordino/base/error.hpp"

namespace sordino::cuda {
namespace {

// ncclDataType_t and ncclRedOp_t
constexpr int float64 = 8, sum = 0;

template <class F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (!function) throw Error(Errc::unsupported, std::string("the NCCL here has no ") + name);
}

}  // namespace

struct Nccl::Functions {
  int (*get_version)(int*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  int (*comm_init_all)(void**, int, const int*) = nullptr;
  int (*comm_destroy)(void*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, void*, cudaStream_t) = nullptr;
};

Nccl::Nccl(const std::string& path, const std::vector<int>& devices) {
  library_ = dlopen(path.empty() ? "libnccl.so.2" : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) throw Error(Errc::unsupported, std::string("there is no NCCL here: ") + dlerror());
  // It stays loaded: its threads may outlive what they were started for.
  static Functions f;
  f_ = &f;
  find(library_, "ncclGetVersion", f.get_version);
  find(library_, "ncclGetErrorString", f.get_error_string);
  find(library_, "ncclCommInitAll", f.comm_init_all);
  find(library_, "ncclCommDestroy", f.comm_destroy);
  find(library_, "ncclAllReduce", f.all_reduce);
  find(library_, "ncclAllGather", f.all_gather);
  int v = 0;
  check("ncclGetVersion", f_->get_version(&v));
  version_ = std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
  comms_.resize(devices.size());
  check("ncclCommInitAll", f_->comm_init_all(comms_.data(), int(devices.size()), devices.data()));
}

Nccl::~Nccl() {
  for (void* comm : comms_) f_->comm_destroy(comm);
}

void Nccl::all_reduce(int rank, double* values, i64 count, cudaStream_t stream) const {
  check("ncclAllReduce", f_->all_reduce(values, values, std::size_t(count), float64, sum, comms_[std::size_t(rank)], stream));
}

void Nccl::all_gather(int rank, const double* part, double* whole, i64 count, cudaStream_t stream) const {
  check("ncclAllGather", f_->all_gather(part, whole, std::size_t(count), float64, comms_[std::size_t(rank)], stream));
}

void Nccl::check(const char* name, int result) const {
  if (result != 0) throw Error(Errc::unsupported, std::string(name) + " failed: " + f_->get_error_string(result));
}

}  // namespace sordino::cuda
