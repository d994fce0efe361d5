#include "sordino/api/cuda/engines.hpp"

#include <array>

#include "sordino/config.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/engine.hpp"
#include "sordino/runtime/cuda/nvtx.hpp"
#include "sordino/runtime/cuda/peers.hpp"

namespace sordino::cuda {
namespace {

[[maybe_unused]] const bool ranges_shown = show_ranges();

}  // namespace

bool usable() { return device_report().reason.empty(); }

int device_count() {
  DeviceReport report = device_report();
  return report.reason.empty() ? int(report.devices.size()) : 0;
}

void require_devices(const std::vector<int>& devices) { (void)chosen_devices(devices); }

std::string carrier(const CudaEngine& engine) {
  if (engine.size() == 1) return "one device";
  if (engine.shares_devices()) return "stream events (ranks share a device)";
  std::array<bool, carriers> used{};
  for (int from = engine.first_rank(); from < engine.first_rank() + engine.local_ranks(); from++)
    for (int to = 0; to < engine.size(); to++)
      if (to != from) used[std::size_t(engine.carrier(from, to))] = true;
  std::string all;
  for (int c = 0; c < carriers; c++)
    if (used[std::size_t(c)]) all += (all.empty() ? "" : " and ") + std::string(name_of(Carrier(c)));
  return all;
}

Links links_of(const std::string& name) {
  if (name == "memory") return Links::memory;
  if (name == "nccl") return Links::nccl;
  if (name == "nvshmem") return Links::nvshmem;
  return name == "host" ? Links::host : Links::automatic;
}

Sums sums_of(const std::string& name) {
  if (name == "nccl") return Sums::by_nccl;
  return name == "auto" || name == "fastest" || name == "ordered" ? Sums::pushed : Sums::by_host;
}

Staging staging_of(const std::string& name) {
  if (name == "mpi-staged") return Staging::always;
  return name == "mpi-direct" ? Staging::never : Staging::automatic;
}

bool parts_processes(const std::string& name) { return name.starts_with("mpi"); }

EngineChoice make_engine(const sordino::Options& o, const std::vector<int>& devices, std::unique_ptr<Hall> hall,
                         std::unique_ptr<Transport> transport, bool late_sums) {
  enable_kernels();
  Options c;
  c.ranks = o.ranks;
  c.devices = devices;
  c.links = links_of(o.transport);
  c.staging = staging_of(o.transport);
  c.sums = sums_of(o.all_reduce);
  c.timeout = o.timeout;
  c.deterministic = o.deterministic == "on";
  c.time_commands = o.time_commands;
  c.late_sums = late_sums;
  auto engine = std::make_unique<CudaEngine>(c, std::move(hall), std::move(transport));
  std::string carries = carrier(*engine);
  return {std::move(engine), carries};
}

sordino::DeviceReport report() {
  DeviceReport found = device_report();
  sordino::DeviceReport r;
  r.reason = found.reason;
  r.peer_access = found.peers;
  r.peer_atomics = found.peer_atomics;
  for (auto& d : found.devices)
    r.devices.push_back({d.name, std::to_string(d.major) + "." + std::to_string(d.minor), d.memory});
  return r;
}

std::string toolkit_version() { return device_report().runtime; }
std::string architectures() { return SORDINO_CUDA_ARCHITECTURES; }

}  // namespace sordino::cuda
