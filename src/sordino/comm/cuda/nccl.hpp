// NCCL, where this machine has it: loaded at run time, to be compared with. Its own words for its own functions, so that
// nothing of it is needed to build.
#pragma once
#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::cuda {

/// Communicators of all devices of this process, one a rank.
class Nccl {
 public:
  /// Loads `path`, or what the loader finds as libnccl.so.2. Throws `unsupported` with a sentence if there is none, or if it
  /// fails.
  Nccl(const std::string& path, const std::vector<int>& devices);
  ~Nccl();
  Nccl(const Nccl&) = delete;

  const std::string& version() const { return version_; }  // as 2.28.9
  /// Each rank calls these from its own thread, on its own stream; asynchronous.
  void all_reduce(int rank, double* values, i64 count, cudaStream_t stream) const;
  void all_gather(int rank, const double* part, double* whole, i64 count, cudaStream_t stream) const;

 private:
  struct Functions;
  void check(const char* name, int result) const;
  void* library_ = nullptr;
  Functions* f_ = nullptr;
  std::string version_;
  std::vector<void*> comms_;
};

}  // namespace sordino::cuda
