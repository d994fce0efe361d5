// What `bench comm --engine cuda` measures between processes, in few rounds: what was moved and added is checked, and throws.
#include <map>
#include <set>

#include "conformance/mpi_world.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/measure.hpp"
#include "sordino/comm/transport/mpi_processes.hpp"
#include "support.hpp"

using namespace sordino;
using cuda::CommFigure;

namespace {

std::vector<CommFigure> measured(const std::string& name) {
  if (test::gpus() < mpi_world::processes()) SKIP("a GPU for each of ", mpi_world::processes(), " processes is needed");
  auto processes = mpi::processes(60);
  cuda::CommPlan plan;
  plan.epochs = 1;
  for (int n : {1, 2})
    if (n * mpi_world::processes() <= test::gpus()) plan.ranks = {n * mpi_world::processes()};
  plan.processes = processes.get();
  auto figures = cuda::measure_comm(name, plan);
  for (auto& f : figures) {
    NOTE(f.way, ", ", f.ranks, " ranks, ", f.bytes, " bytes: ", f.remark);
    CHECK(f.median > 0);
    CHECK(f.ranks == plan.ranks[0]);
    CHECK(mpi_world::agree(f.median));  // that of the slowest process, in all of them
  }
  return figures;
}

}  // namespace

TEST("exchange paths between processes leave the right words, and ours are measured beside MPI's") {
  std::map<std::string, std::set<std::string>> ways;  // by what is exchanged
  for (auto& f : measured("exchange-paths")) ways[f.remark.substr(0, f.remark.find_first_of(";,"))].insert(f.way);
  CHECK(ways.size() == 2);
  for (auto& [what, of] : ways) {
    NOTE(what);
    for (const char* way : {"set, MPI between the hosts' memory", "our kernels, MPI between the hosts' memory",
                            "the engine, between processes by mpi"})
      CHECK(of.count(way) == 1);
    CHECK(of.size() >= 4);
  }
}

TEST("a gathered vector is hidden behind work between processes, too") { CHECK(measured("overlap").size() >= 12); }

TEST("what is measured within one process only is refused between several") {
  auto processes = mpi::processes(10);
  cuda::CommPlan plan;
  plan.processes = processes.get();
  std::string said;
  try {
    cuda::measure_comm("put", plan);
  } catch (const Error& e) {
    said = e.what();
  }
  CHECK(said == "there is no measurement 'put' between processes; there are exchange-paths, overlap");
}
