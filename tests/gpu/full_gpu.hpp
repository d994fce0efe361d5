// A GPU whose memory is taken, for tests of what is done without.
#pragma once
#include <cuda_runtime.h>

#include <vector>

#include "sordino/runtime/cuda/call.hpp"

namespace test {

/// Holds all memory of the present GPU, but for pieces of less than 2 MiB. Others on that GPU have none meanwhile.
class FullGpu {
 public:
  FullGpu() {
    std::size_t available = 0, total = 0;
    sordino::cuda::call("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
    for (std::size_t piece = available; piece >= std::size_t(1) << 21; piece /= 2)
      for (void* memory = nullptr; cudaMalloc(&memory, piece) == cudaSuccess;) held_.push_back(memory);
    cudaGetLastError();
  }
  FullGpu(const FullGpu&) = delete;
  FullGpu& operator=(const FullGpu&) = delete;
  ~FullGpu() {
    for (void* memory : held_) cudaFree(memory);
  }

 private:
  std::vector<void*> held_;
};

}  // namespace test
