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
#endif
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/engines.hpp"
#endif

namespace sordino {
namespace {

constexpr int most_devices = 4096;

int cores() { return std::max(1, int(std::thread::hardware_concurrency())); }

/// There are GPUs for a rank of each process at least, as all processes see it. Collective.
[[maybe_unused]] bool enough_devices() {
#if SORDINO_WITH_CUDA && SORDINO_WITH_MPI
  return number_of_processes() == 1 ? cuda::usable() : mpi::everywhere(cuda::device_count() >= number_of_processes());
#elif SORDINO_WITH_CUDA
  return cuda::usable();
#else
  return false;
#endif
}

EngineChoice host_engine(const Options& o) {
  host::Options h;
  h.ranks = o.ranks > 0 ? o.ranks : cores();
  h.timeout = o.timeout;
  h.time_commands = o.time_commands;
  h.progress_thread = o.progress == "thread";
  std::unique_ptr<Transport> transport;
#if SORDINO_WITH_MPI
  transport = mpi::transport(h.ranks);
#endif
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

EngineChoice cuda_engine([[maybe_unused]] const Options& o) {
#if SORDINO_WITH_CUDA
  std::vector<int> devices = parse_devices(o.devices);
  std::unique_ptr<Hall> hall;
  std::unique_ptr<Transport> transport;
#if SORDINO_WITH_MPI
  int seen = devices.empty() ? cuda::device_count() : int(devices.size());
  int ranks = o.ranks > 0 ? o.ranks : std::max(1, seen / number_of_processes());
  hall = mpi::hall(ranks, cuda::parts_processes(o.transport) ? mpi::world().process : -1);
  if (hall) transport = mpi::transport(ranks);
#endif
  return cuda::make_engine(o, devices, std::move(hall), std::move(transport));
#else
  throw Error(
      Errc::unsupported,
      "this build has no cuda engine: install nvcc, or set SORDINO_CUDA=1, and build again; engine host works everywhere");
#endif
}

EngineChoice engine_of(const Options& o, const Machine& machine) {
  std::string name = o.engine;
  if (name == "auto") name = enough_devices() ? "cuda" : "host";
  if (name == "host") return host_engine(o);
  if (name == "cuda") return cuda_engine(o);
  if (number_of_processes() > 1)
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
  EngineChoice choice = engine_of(o, machine);
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
