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

std::vector<CommFigure> measured(const std::string& name, cuda::CommPlan plan = {}, i64 epochs = 1) {
  if (test::gpus() < mpi_world::processes()) SKIP("a GPU for each of ", mpi_world::processes(), " processes is needed");
  auto processes = mpi::processes(60);
  plan.epochs = epochs;
  for (int n : {1, 2})
    if (n * mpi_world::processes() <= test::gpus()) plan.ranks = {n * mpi_world::processes()};
  plan.processes = processes.get();
  auto figures = cuda::measure_comm(name, plan);
  for (auto& f : figures) {
    NOTE(f.way, ", ", f.ranks, " ranks, ", f.bytes, " bytes: ", f.remark);
    CHECK((f.median > 0 || f.way.find(" over ") != std::string::npos));  // what one takes longer than another
    CHECK(f.ranks == plan.ranks[0]);
    CHECK(mpi_world::agree(f.median));  // that of the slowest process, in all of them
  }
  return figures;
}

}  // namespace

TEST("exchange paths between processes leave the right words, and ours are measured beside MPI's") {
  std::map<std::string, std::set<std::string>> ways;  // by what is exchanged
  for (auto& f : measured("exchange-paths")) ways[f.remark.substr(0, f.remark.find_first_of(";,"))].insert(f.way);
  CHECK(ways.size() == 3);
  CHECK(ways["host vector to all"].count("set, in each process") == 1);
  CHECK(ways["pieces to all"].count("MPI alone, between the hosts' memory") == 1);
  for (const char* what : {"pieces to all", "sum to all"}) {
    auto& of = ways[what];
    NOTE(what);
    for (const char* way : {"set, MPI between the hosts' memory", "our kernels, MPI between the hosts' memory",
                            "the engine, between processes by mpi"})
      CHECK(of.count(way) == 1);
    CHECK(of.size() >= 4);
  }
}

TEST("messages and broadcasts between processes are timed straight and over MPI, and every word is right") {
  std::map<std::string, int> lines;
  cuda::CommPlan over_mpi;
  over_mpi.apart = true;
  over_mpi.staging = cuda::Staging::always;
  for (const char* name : {"messages", "broadcast"})
    for (const cuda::CommPlan& plan : {cuda::CommPlan{}, over_mpi})
      for (auto& f : measured(name, plan)) lines[f.way]++;
  CHECK(lines.size() == 8);
  for (auto& [way, count] : lines) {
    NOTE(way);
    CHECK(count == 9);
  }
  for (const char* way : {"to and fro, by mpi", "one way, by mpi", "both ways at once, by mpi"}) CHECK(lines.count(way) == 1);
}

TEST("a gathered vector is hidden behind work between processes, too") { CHECK(measured("overlap").size() >= 12); }

TEST("puts into other processes' windows are timed beside a copy, and every word is right") {
  std::map<std::string, std::map<std::string, int>> lines;  // by way
  for (auto& f : measured("put")) {
    CHECK(f.bandwidth > 0);
    lines[f.way][f.remark.substr(0, f.remark.find(';'))]++;
  }
  constexpr int sizes = 7;  // 64 KiB to 256 MiB
  for (const char* way : {"our kernel, with its signal", "the copy engine, with our signal"})
    for (const char* what : {"one direction", "both directions at once", "to and fro, one way"})
      CHECK(lines[way][what] == sizes);
  for (const char* what : {"one direction", "both directions at once"})
    CHECK(lines["cudaMemcpyAsync, to mapped memory"][what] == sizes);
  CHECK(lines.size() == 3);
}

TEST("what kernels do among themselves is measured between processes, and has the right words and sums") {
  for (const char* name : {"all-reduce", "ping-pong", "tail-to-head", "scopes", "all-gather"}) {
    NOTE(name);
    auto figures = measured(name, {}, 2000);
    CHECK(!figures.empty());
    for (auto& f : figures) CHECK(f.what == name);
  }
}

TEST("what is measured within one process only is refused between several") {
  auto processes = mpi::processes(10);
  cuda::CommPlan plan;
  plan.processes = processes.get();
  std::string said;
  try {
    cuda::measure_comm("events", plan);
  } catch (const Error& e) {
    said = e.what();
  }
  CHECK(said ==
        "there is no measurement 'events' between processes; there are all-reduce, tail-to-head, ping-pong, put, all-gather, "
        "scopes, messages, broadcast, exchange-paths, overlap");
}
