#include "sordino/runtime/cuda/devices.hpp"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "sordino/base/range.hpp"
#include "sordino/config.hpp"
#include "sordino/runtime/architectures.hpp"

namespace sordino::cuda {
namespace {

std::string version(int n) { return n > 0 ? std::to_string(n / 1000) + "." + std::to_string(n % 1000 / 10) : "none"; }

std::string why_none(cudaError_t error, const DeviceReport& report) {
  switch (error) {
    case cudaSuccess: return "no NVIDIA GPU is visible (CUDA_VISIBLE_DEVICES may hide them)";
    case cudaErrorNoDevice: return "no NVIDIA GPU is visible (CUDA_VISIBLE_DEVICES may hide them)";
    case cudaErrorInsufficientDriver:
      return report.driver == "none"
                 ? "there is no NVIDIA driver"
                 : "the NVIDIA driver knows CUDA " + report.driver + " and this build needs " + report.runtime;
    default: return std::string("the CUDA runtime says: ") + cudaGetErrorString(error);
  }
}

/// Nothing, if there are kernels for one of the GPUs at least; else the sentence.
std::string why_no_kernels(const std::vector<Device>& devices) {
  auto served = [](const Device& d) { return runs_on(SORDINO_CUDA_ARCHITECTURES, d.major, d.minor); };
  if (devices.empty() || std::ranges::any_of(devices, served)) return "";
  const Device& d = devices.front();
  std::string capability = std::to_string(d.major) + "." + std::to_string(d.minor);
  std::string wanted = std::to_string(10 * d.major + d.minor);
  return "this build has kernels for " SORDINO_CUDA_ARCHITECTURES ", and " + d.name + " has compute capability " + capability +
         ": SORDINO_CUDA_ARCHITECTURES=" + wanted + " pip install . in the folder of the sources";
}

/// Properties of a GPU are long in coming.
DeviceReport looked_up() {
  Range range("look for GPUs");
  DeviceReport report;
  int n = 0, v = 0;
  if (cudaRuntimeGetVersion(&v) == cudaSuccess) report.runtime = version(v);
  report.driver = version(cudaDriverGetVersion(&v) == cudaSuccess ? v : 0);
  cudaError_t error = cudaGetDeviceCount(&n);
  if (error != cudaSuccess || n == 0) {
    cudaGetLastError();
    report.reason = why_none(error, report);
    return report;
  }
  for (int d = 0; d < n; d++) {
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, d) != cudaSuccess) continue;
    report.devices.push_back({d, p.name, p.major, p.minor, p.multiProcessorCount, i64(p.totalGlobalMem)});
    report.peers.emplace_back(n, true);
    report.peer_atomics.emplace_back(n, true);
    for (int q = 0; q < n; q++) {
      if (q == d) continue;
      int can = 0, atomics = 0;
      cudaDeviceCanAccessPeer(&can, d, q);
      if (can) cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, d, q);
      report.peers.back()[q] = can != 0;
      report.peer_atomics.back()[q] = atomics != 0;
    }
  }
  cudaGetLastError();
  if (int(report.devices.size()) != n) report.reason = "a GPU does not answer";
  if (std::string why = why_no_kernels(report.devices); !why.empty()) {
    report.devices.clear();
    report.peers.clear();
    report.peer_atomics.clear();
    report.reason = why;
  }
  return report;
}

}  // namespace

/// What is there stays so in a process; what forks has no GPUs of its parent's.
DeviceReport device_report() {
  static std::mutex mutex;
  static DeviceReport known;
  static pid_t of = 0;
  {
    std::lock_guard lock(mutex);
    if (of == getpid() && known.reason.empty()) return known;
  }
  const DeviceReport found = looked_up();  // without the lock, which a process that forks meanwhile would keep
  std::lock_guard lock(mutex);
  known = found, of = getpid();
  return found;
}

}  // namespace sordino::cuda
