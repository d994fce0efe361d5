#include "sordino/runtime/cuda/peers.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/devices.hpp"

namespace sordino::cuda {
namespace {

// Once a process: asking again is an error, which tools report even where it is expected.
bool enable(int device, int peer) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> enabled;
  std::lock_guard lock(mutex);
  if (enabled.count({device, peer})) return true;
  OnDevice on(device);
  int can = 0;
  call("cudaDeviceCanAccessPeer", cudaDeviceCanAccessPeer(&can, device, peer));
  if (!can) return false;
  cudaError_t e = cudaDeviceEnablePeerAccess(peer, 0);
  if (e == cudaErrorPeerAccessAlreadyEnabled)  // by another library of this process
    cudaGetLastError();
  else
    call("cudaDeviceEnablePeerAccess", e);
  enabled.insert({device, peer});
  return true;
}

}  // namespace

std::vector<int> chosen_devices(const std::vector<int>& wanted) {
  DeviceReport report = device_report();
  if (!report.reason.empty()) throw Error(Errc::unsupported, "the cuda engine cannot run here: " + report.reason);
  std::vector<int> devices = wanted;
  int n = int(report.devices.size());
  if (devices.empty())
    for (int d = 0; d < n; d++) devices.push_back(d);
  for (int d : devices) {
    if (d < 0 || d >= n)
      bad_argument("there is no device " + std::to_string(d) + ": this machine has " + std::to_string(n) + ", counted from 0");
    if (std::count(devices.begin(), devices.end(), d) > 1)
      bad_argument("device " + std::to_string(d) + " is named twice: ranks share a device where there are more of them");
  }
  return devices;
}

Reach enable_peers(const std::vector<int>& devices) {
  Reach reach;
  for (int d : devices)
    for (int peer : devices)
      if (peer != d && enable(d, peer)) reach.add(d, peer);
  return reach;
}

void need_peers(const Reach& reach, const std::vector<int>& devices) {
  for (int d : devices)
    for (int peer : devices)
      if (!reach.between(d, peer))
        throw Error(Errc::unsupported, "device " + std::to_string(d) + " and device " + std::to_string(peer) +
                                           " do not reach each other's memory: choose devices that do (sordino doctor lists "
                                           "them), or one device");
}

}  // namespace sordino::cuda
