// What this build contains and what this machine offers; `sordino doctor` puts it into words.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

struct BuildInfo {
  std::string version, compiler, cuda_version, cuda_architectures, mpi_library;
  bool cuda = false, mpi = false;
};
BuildInfo build_info();

struct DeviceInfo {
  std::string name, capability;
  i64 memory_total = 0;  // bytes; what is free is not known without starting the device
};
struct DeviceReport {
  std::vector<DeviceInfo> devices;
  std::vector<std::vector<bool>> peer_access;   // [a][b]: a reaches b's memory,
  std::vector<std::vector<bool>> peer_atomics;  //   and atomic operations on it are the link's own
  std::string reason;                           // why there are none
};
DeviceReport device_report();

struct MpiReport {
  bool initialized = false;
  int process = 0, processes = 1;
  std::string reason;
  std::optional<bool> gpu_aware = {};  // whether the library takes memory of GPUs; some say so only once it is initialised
  std::string threads = {};            // the support of threads that it grants, once it is initialised
  bool serialized = false;             // calls are made one at a time, for want of MPI_THREAD_MULTIPLE or as asked for
};
/// Initialises MPI if this process was started by an MPI launcher.
MpiReport mpi_report();

}  // namespace sordino
