// What the tests of the cuda engine share.
#pragma once
#include <cstdlib>
#include <memory>

#include "check.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/engine.hpp"
#include "sordino/runtime/cuda/nccl.hpp"
#include "sordino/runtime/host/engine.hpp"

namespace test {

void enable_kernels();  // kernels.cu

inline void need_gpu() {
  sordino::cuda::DeviceReport report = sordino::cuda::device_report();
  if (!report.reason.empty()) SKIP("no GPU: ", report.reason);
  enable_kernels();
}

inline std::unique_ptr<sordino::cuda::CudaEngine> cuda_engine(int ranks, sordino::cuda::Options options = {}) {
  options.ranks = ranks;
  if (options.timeout == 60) options.timeout = 10;
  return std::make_unique<sordino::cuda::CudaEngine>(options);
}

inline std::unique_ptr<sordino::host::HostEngine> host_engine(int ranks) {
  sordino::host::Options options;
  options.ranks = ranks;
  return std::make_unique<sordino::host::HostEngine>(options);
}

/// Several ranks on one GPU that do wait for each other there, in small grids that fit beside each other.
inline sordino::cuda::Options spinning(int blocks = 8) {
  sordino::cuda::Options o;
  o.devices = {0};
  o.sharing = sordino::cuda::Sharing::never;
  o.most_blocks = blocks;
  return o;
}

inline int gpus() { return int(sordino::cuda::device_report().devices.size()); }

/// SORDINO_NCCL names a libnccl.so.2 where the loader finds none.
inline sordino::cuda::Options by_nccl(sordino::cuda::Options o = {}) {
  o.links = sordino::cuda::Links::nccl;
  if (const char* path = std::getenv("SORDINO_NCCL")) o.nccl = path;
  return o;
}

inline void need_nccl(int devices = 2) {
  need_gpu();
  if (gpus() < devices) SKIP("NCCL takes a GPU a rank: ", devices, " are needed, and here are ", gpus());
  try {
    sordino::cuda::Nccl found(by_nccl().nccl);
  } catch (const sordino::Error& e) {
    SKIP(e.what());
  }
}

inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0, scale = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); i++) {
    most = std::max(most, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return a.size() == b.size() ? most / scale : INFINITY;
}

}  // namespace test
