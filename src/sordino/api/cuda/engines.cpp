#include "sordino/api/cuda/engines.hpp"

#include "sordino/config.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/engine.hpp"

namespace sordino::cuda {

bool usable() { return device_report().reason.empty(); }

EngineChoice make_engine(const sordino::Options& o, const std::vector<int>& devices) {
  enable_kernels();
  Options c;
  c.ranks = o.ranks;
  c.devices = devices;
  c.timeout = o.timeout;
  c.deterministic = o.deterministic == "on";
  c.time_commands = o.time_commands;
  auto engine = std::make_unique<CudaEngine>(c);
  std::string carries = engine->size() == 1        ? "one device"
                        : engine->shares_devices() ? "stream events (ranks share a device)"
                                                   : "peer memory";
  return {std::move(engine), carries};
}

sordino::DeviceReport report() {
  DeviceReport found = device_report();
  sordino::DeviceReport r;
  r.reason = found.reason;
  r.peer_access = found.peers;
  for (auto& d : found.devices)
    r.devices.push_back({d.name, std::to_string(d.major) + "." + std::to_string(d.minor), d.memory, d.memory});
  return r;
}

std::string toolkit_version() { return device_report().runtime; }
std::string architectures() { return SORDINO_CUDA_ARCHITECTURES; }

}  // namespace sordino::cuda
