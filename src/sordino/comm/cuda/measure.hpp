// What messages between GPUs, and between a GPU and its host, cost: for `sordino bench comm --engine cuda`.
#pragma once
#include <string>
#include <vector>

#include "sordino/base/types.hpp"
#include "sordino/comm/processes.hpp"
#include "sordino/runtime/cuda/engine.hpp"

namespace sordino::cuda {

struct CommPlan {
  std::vector<int> devices;            // empty: all there are
  std::vector<int> ranks = {1, 2, 4};  // those that there are devices for are measured, one device a rank
  i64 epochs = 0;                      // of a measurement; 0: as many as each takes to be steady
  double timeout = 10;                 // seconds that a wait on a device may take
  std::string nccl = {};               // a libnccl.so.2 to compare with; empty: where the loader finds one
  // Several processes that measure together, and all pass the same; ranks are then those of all of them, in equal numbers.
  // Each takes its share of the devices.
  Processes* processes = nullptr;
  // The engine's way between ranks, for measurements that can be made over any.
  Links links = Links::automatic;
  Staging staging = Staging::automatic;
  bool apart = false;  // as if each process were on a host of its own: over MPI

  bool chooses_way() const { return links != Links::automatic || staging != Staging::automatic || apart; }
};

/// One line of a table. What was wrong throws; so a figure that is there had the right result, with the same bits on all ranks.
struct CommFigure {
  std::string what = {};  // the measurement
  std::string way = {};   // and who did it
  int ranks = 1;
  i64 bytes = 0;               // of a message
  i64 samples = 0;             // that median and p99 are of
  double median = 0, p99 = 0;  // seconds
  double bandwidth = 0;        // bytes a second, in one direction; 0: not of interest
  i64 violations = -1;         // of a litmus test; -1: none was made
  std::string remark = {};     // such as why there is no figure
};

/// The names of all measurements, in the order in which to show them; of those alone that several processes can make, and that
/// can be made over a way between ranks which the plan chooses.
std::vector<std::string> comm_measurements(bool between_processes = false, bool by_any_way = false);

/// Runs one of them. Seconds to a minute. Collective over the plan's processes, with the same figures in all of them. Throws
/// bad_argument for a name that there is none of, or for a way that the measurement does not take, `unsupported` without a GPU,
/// `device` for a wrong result, peer_failed for a wait in vain.
std::vector<CommFigure> measure_comm(const std::string& name, const CommPlan& plan);

}  // namespace sordino::cuda
