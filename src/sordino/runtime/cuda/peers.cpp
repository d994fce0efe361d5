#include "sordino/runtime/cuda/peers.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/devices.hpp"

namespace sordino::cuda {
namespace {

// Once a process: asking again is an error, which tools report even where it is expected.
void enable(int device, const std::vector<int>& devices) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> enabled;
  std::lock_guard lock(mutex);
  OnDevice on(device);
  for (int peer : devices) {
    if (peer == device || enabled.count({device, peer})) continue;
    int can = 0;
    call("cudaDeviceCanAccessPeer", cudaDeviceCanAccessPeer(&can, device, peer));
    if (!can)
      throw Error(Errc::unsupported, "device " + std::to_string(device) + " cannot reach the memory of device " +
                                         std::to_string(peer) +
                                         ": choose devices that can (sordino doctor lists them), or one device");
    cudaError_t e = cudaDeviceEnablePeerAccess(peer, 0);
    if (e == cudaErrorPeerAccessAlreadyEnabled)  // by another library of this process
      cudaGetLastError();
    else
      call("cudaDeviceEnablePeerAccess", e);
    enabled.insert({device, peer});
  }
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

void enable_peers(const std::vector<int>& devices) {
  for (int d : devices) enable(d, devices);
}

}  // namespace sordino::cuda
