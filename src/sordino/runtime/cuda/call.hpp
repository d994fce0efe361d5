// Every CUDA call is made through call(): no error is overlooked, and it says which call failed.
#pragma once
#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/types.hpp"

namespace sordino::cuda {

/// CUDA calls of this thread: a replay is to make few, and none an iteration.
inline thread_local i64 calls_made = 0;

[[noreturn]] void throw_cuda_error(cudaError_t error, const char* name, const std::source_location& where);

/// call("cudaMalloc", cudaMalloc(&p, bytes));
inline void call(const char* name, cudaError_t error, const std::source_location& where = std::source_location::current()) {
  calls_made++;
  if (error != cudaSuccess) throw_cuda_error(error, name, where);
}

/// Makes a device current, and the caller's own device again at the end.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    call("cudaGetDevice", cudaGetDevice(&before_));
    if (before_ != device) call("cudaSetDevice", cudaSetDevice(device));
    changed_ = before_ != device;
  }
  ~OnDevice() {
    if (changed_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace sordino::cuda
