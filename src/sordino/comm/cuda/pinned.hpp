// Pinned host memory that all devices see, for measurements.
#pragma once
#include <algorithm>

#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {

struct Pinned {
  void* bytes = nullptr;
  explicit Pinned(std::size_t n) {
    call("cudaHostAlloc", cudaHostAlloc(&bytes, n, cudaHostAllocPortable | cudaHostAllocMapped));
    std::fill_n(static_cast<char*>(bytes), n, char(1));
  }
  ~Pinned() { cudaFreeHost(bytes); }
  Pinned(const Pinned&) = delete;
};

}  // namespace sordino::cuda
