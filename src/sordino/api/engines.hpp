// Builds the engine that the options ask for, or says in one sentence why it cannot be had.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sordino/api/options.hpp"
#include "sordino/base/types.hpp"
#include "sordino/comm/processes.hpp"
#include "sordino/runtime/engine.hpp"
#include "sordino/runtime/machine.hpp"

namespace sordino {

struct EngineChoice {
  std::unique_ptr<Engine> engine;
  std::string transport;        // what carries data between ranks
  std::string all_reduce = "";  // the way of recorded sums
};

/// Throws bad_argument, as make_engine() would in this process alone, if the options name a device that is not here. Not
/// collective: so that processes can agree on it before.
void require_devices(const Options& options);

constexpr i64 any_number_of_rows = -1;

/// Of all processes that a launcher started. `rows` of the matrix, if one is known: a number of ranks that nobody asked for is
/// no larger, so that every rank has a row.
EngineChoice make_engine(const Options& options, const Machine& machine, i64 rows = any_number_of_rows);
/// Of these processes; null: of this one alone, whoever started it. `rows`: of this process. Collective over them.
EngineChoice make_engine(const Options& options, const Machine& machine, Processes* processes, i64 rows = any_number_of_rows);

/// CUDA's numbers of the ranks' GPUs, which set up for the engine, of several processes of the first local one's alone; {-1}:
/// there are none.
std::vector<int> gpus_of(Engine& engine);

/// Vectors of so many bytes in all are to follow on the rank: a device's memory for them is taken at once, if it has it.
void expect_vectors(Rank& rank, i64 bytes);

/// Of this run: what MPI says, which is initialised where a launcher started this process; 1 without MPI.
int number_of_processes();

/// The processes that a launcher started; null if there is one only. Collective over them. `call`: as of Processes::enter, for
/// those who wait here already.
std::unique_ptr<Processes> all_processes(double timeout, const std::string& call = "");

/// Engines that can run here: host, model, and cuda where this build and this machine have it.
std::vector<std::string> available_engines();

}  // namespace sordino
