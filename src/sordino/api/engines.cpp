#include "sordino/api/engines.hpp"

#include <algorithm>
#include <sstream>
#include <thread>

#include "sordino/base/error.hpp"
#include "sordino/comm/recorded_sums.hpp"
#include "sordino/config.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#if SORDINO_WITH_MPI
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/comm/transport/mpi_processes.hpp"
#endif
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/engines.hpp"
#endif

namespace sordino {
namespace {

constexpr int most_devices = 4096;

int cores() { return std::max(1, int(std::thread::hardware_concurrency())); }

/// There are GPUs for a rank of each process at least, as all processes see it. Collective.
bool enough_devices([[maybe_unused]] Processes* processes) {
#if SORDINO_WITH_CUDA
  if (!processes) return cuda::usable();
  std::vector<double> missing{cuda::device_count() < processes->count() ? 1.0 : 0.0};
  processes->most(missing);
  return missing[0] == 0;
#else
  return false;
#endif
}

EngineChoice host_engine(const Options& o, Processes* processes) {
  host::Options h;
  h.ranks = o.ranks > 0 ? o.ranks : cores();
  h.timeout = o.timeout;
  h.time_commands = o.time_commands;
  h.progress_thread = o.progress == "thread";
  std::unique_ptr<Transport> transport = processes ? processes->transport(h.ranks) : nullptr;
  std::string carries = transport ? "threads and mpi" : "threads";
  return {std::make_unique<host::HostEngine>(h, std::move(transport)), carries};
}

EngineChoice model_engine(const Options& o, const Machine& machine) {
  validate(machine);
  model::Options m;
  m.machine = machine;
  m.ranks = o.ranks > 0 ? o.ranks : 4;
  m.seed = u64(o.seed);
  return {std::make_unique<model::ModelEngine>(m), "model"};
}

EngineChoice cuda_engine([[maybe_unused]] const Options& o, [[maybe_unused]] Processes* processes) {
#if SORDINO_WITH_CUDA
  std::vector<int> devices = parse_devices(o.devices);
  std::unique_ptr<Hall> hall;
  std::unique_ptr<Transport> transport;
  if (processes) {
    int seen = devices.empty() ? cuda::device_count() : int(devices.size());
    int ranks = o.ranks > 0 ? o.ranks : std::max(1, seen / processes->count());
    hall = processes->hall(ranks, cuda::parts_processes(o.transport));
    transport = processes->transport(ranks);
  }
  return cuda::make_engine(o, devices, std::move(hall), std::move(transport));
#else
  throw Error(
      Errc::unsupported,
      "this build has no cuda engine: install nvcc, or set SORDINO_CUDA=1, and build again; engine host works everywhere");
#endif
}

EngineChoice engine_of(const Options& o, const Machine& machine, Processes* processes) {
  std::string name = o.engine;
  if (name == "auto") name = enough_devices(processes) ? "cuda" : "host";
  if (name == "host") return host_engine(o, processes);
  if (name == "cuda") return cuda_engine(o, processes);
  if (processes)
    throw Error(Errc::unsupported, "engine model runs in one process, without a launcher; over MPI use engine host or cuda");
  return model_engine(o, machine);
}

AllReduceOptions all_reduce_of(const Options& o) {
  AllReduceOptions a{.reduce_degree = o.reduce_degree, .broadcast_degree = o.broadcast_degree};
  if (o.all_reduce != "auto") a.algorithm = algorithm_named(o.all_reduce);
  return a;
}

}  // namespace

int number_of_processes() {
#if SORDINO_WITH_MPI
  return mpi::world().processes;
#else
  return 1;
#endif
}

std::vector<int> parse_devices(const std::string& text) {
  std::vector<int> devices;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    int first = -1, last = -1;
    char dash = 0, more = 0;
    std::istringstream p(part);
    if (!(p >> first)) bad_argument("devices '" + text + "' is not a list such as 0-3 or 0,2");
    last = first;
    if (p >> dash && (dash != '-' || !(p >> last) || p >> more))
      bad_argument("devices '" + text + "' is not a list such as 0-3 or 0,2");
    if (first < 0 || last < first || last >= most_devices)
      bad_argument("devices '" + text + "' is not a list such as 0-3 or 0,2");
    for (int d = first; d <= last; d++) devices.push_back(d);
  }
  return devices;
}

EngineChoice make_engine(const Options& o, const Machine& machine) {
  std::unique_ptr<Processes> processes;
#if SORDINO_WITH_MPI
  processes = mpi::processes(o.timeout);
#endif
  return make_engine(o, machine, processes.get());
}

EngineChoice make_engine(const Options& o, const Machine& machine, Processes* processes) {
  EngineChoice choice = engine_of(o, machine, processes);
  if (o.all_reduce == "nccl" && choice.engine->is_device()) {  // which has been built for it
    choice.all_reduce = o.all_reduce;
    return choice;
  }
  choice.all_reduce = name(sum_by(*choice.engine, all_reduce_of(o)).algorithm);
  return choice;
}

std::vector<std::string> available_engines() {
  std::vector<std::string> names{"host", "model"};
#if SORDINO_WITH_CUDA
  if (cuda::usable()) names.push_back("cuda");
#endif
  return names;
}

}  // namespace sordino
