// Builds the engine that the options ask for, or says in one sentence why it cannot be had.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sordino/api/options.hpp"
#include "sordino/comm/processes.hpp"
#include "sordino/runtime/engine.hpp"
#include "sordino/runtime/machine.hpp"

namespace sordino {

struct EngineChoice {
  std::unique_ptr<Engine> engine;
  std::string transport;        // what carries data between ranks
  std::string all_reduce = "";  // the way of recorded sums
};

/// Of all processes that a launcher started.
EngineChoice make_engine(const Options& options, const Machine& machine);
/// Of these processes; null: of this one alone, whoever started it. Collective over them.
EngineChoice make_engine(const Options& options, const Machine& machine, Processes* processes);

/// Of this run: what MPI says, which is initialised where a launcher started this process; 1 without MPI.
int number_of_processes();

/// Engines that can run here: host, model, and cuda where this build and this machine have it.
std::vector<std::string> available_engines();

/// "0-3,5" -> {0, 1, 2, 3, 5}; throws bad_argument.
std::vector<int> parse_devices(const std::string& text);

}  // namespace sordino
