#include "sordino/api/engines.hpp"

#include <algorithm>
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
#include "sordino/api/cuda/expect_vectors.hpp"
#include "sordino/api/cuda/gpus_of.hpp"
#endif

namespace sordino {
namespace {

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

/// What a process has of ranks where nobody said how many: `usual`, and no more than rows.
int default_ranks(int usual, i64 rows) { return rows < 0 ? usual : int(std::clamp<i64>(rows, 1, usual)); }

EngineChoice host_engine(const Options& o, Processes* processes, i64 rows) {
  host::Options h;
  h.ranks = o.ranks > 0 ? o.ranks : default_ranks(cores(), rows);
  h.timeout = o.timeout;
  h.time_commands = o.time_commands;
  h.progress_thread = o.progress == "thread";
  std::unique_ptr<Transport> transport = processes ? processes->transport(h.ranks) : nullptr;
  std::string carries = transport ? "threads and mpi" : "threads";
  return {std::make_unique<host::HostEngine>(h, std::move(transport)), carries};
}

EngineChoice model_engine(const Options& o, const Machine& machine, i64 rows) {
  validate(machine);
  model::Options m;
  m.machine = machine;
  m.ranks = o.ranks > 0 ? o.ranks : default_ranks(4, rows);
  m.seed = u64(o.seed);
  return {std::make_unique<model::ModelEngine>(m), "model"};
}

EngineChoice cuda_engine([[maybe_unused]] const Options& o, [[maybe_unused]] Processes* processes, [[maybe_unused]] i64 rows) {
#if SORDINO_WITH_CUDA
  std::vector<int> devices = parse_devices(o.devices);
  int seen = devices.empty() ? cuda::device_count() : int(devices.size());
  int usual = std::max(1, seen / (processes ? processes->count() : 1));
  Options placed = o;
  if (o.ranks == 0) placed.ranks = default_ranks(usual, rows);
  std::unique_ptr<Hall> hall;
  std::unique_ptr<Transport> transport;
  if (processes) {
    hall = processes->hall(placed.ranks, cuda::parts_processes(o.transport));
    transport = processes->transport(placed.ranks);
  }
  return cuda::make_engine(placed, devices, std::move(hall), std::move(transport));
#else
  throw Error(
      Errc::unsupported,
      "this build has no cuda engine: install nvcc, or set SORDINO_CUDA=1, and build again; engine host works everywhere");
#endif
}

EngineChoice engine_of(const Options& o, const Machine& machine, Processes* processes, i64 rows) {
  std::string name = o.engine;
  if (name == "auto") name = enough_devices(processes) ? "cuda" : "host";
  if (name == "host") return host_engine(o, processes, rows);
  if (name == "cuda") return cuda_engine(o, processes, rows);
  if (processes)
    throw Error(Errc::unsupported, "engine model runs in one process, without a launcher; over MPI use engine host or cuda");
  return model_engine(o, machine, rows);
}

AllReduceOptions all_reduce_of(const Options& o) {
  AllReduceOptions a{.reduce_degree = o.reduce_degree, .broadcast_degree = o.broadcast_degree};
  if (o.all_reduce != "auto") a.algorithm = algorithm_named(o.all_reduce);
  return a;
}

}  // namespace

std::vector<int> gpus_of([[maybe_unused]] Engine& engine) {
#if SORDINO_WITH_CUDA
  return cuda::gpus_of(engine);
#else
  return {-1};
#endif
}

void expect_vectors([[maybe_unused]] Rank& rank, [[maybe_unused]] i64 bytes) {
#if SORDINO_WITH_CUDA
  cuda::expect_vectors(rank, bytes);
#endif
}

int number_of_processes() {
#if SORDINO_WITH_MPI
  return mpi::world().processes;
#else
  return 1;
#endif
}

void require_devices([[maybe_unused]] const Options& o) {
#if SORDINO_WITH_CUDA
  bool cuda = o.engine == "cuda" || (o.engine == "auto" && cuda::usable());
  if (cuda && !o.devices.empty()) cuda::require_devices(parse_devices(o.devices));
#endif
}

std::unique_ptr<Processes> all_processes([[maybe_unused]] double timeout, [[maybe_unused]] const std::string& call) {
#if SORDINO_WITH_MPI
  return mpi::processes(timeout, call);
#else
  return nullptr;
#endif
}

EngineChoice make_engine(const Options& o, const Machine& machine, i64 rows) {
  return make_engine(o, machine, all_processes(o.timeout).get(), rows);
}

EngineChoice make_engine(const Options& o, const Machine& machine, Processes* processes, i64 rows) {
  EngineChoice choice = engine_of(o, machine, processes, rows);
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
