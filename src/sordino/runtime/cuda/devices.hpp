// What GPUs this machine has, and why none if so. Knows no CUDA.
#pragma once
#include <string>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::cuda {

struct Device {
  int number = 0;
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  i64 memory = 0;  // bytes
};

struct DeviceReport {
  std::vector<Device> devices;
  std::vector<std::vector<bool>> peers;         // [a][b]: a reaches b's memory,
  std::vector<std::vector<bool>> peer_atomics;  //   and atomic operations on it are the link's own
  std::string runtime, driver;                  // versions, as 13.0
  std::string reason;                           // one sentence if no device can be used; empty otherwise
};

/// Never throws, and leaves the current device as it was.
DeviceReport device_report();

}  // namespace sordino::cuda
