// How long the ways of an all-reduce take on a described machine: each algorithm's messages, played on clocks of the ranks.
#pragma once
#include <vector>

#include "sordino/comm/all_reduce.hpp"
#include "sordino/runtime/machine.hpp"

namespace sordino {

/// Of a short message: seconds.
struct MessageCosts {
  double overhead = 0;       // for which it keeps its sender
  double near = 0, far = 0;  // until it has come, within a node and between nodes
  double leading = 0;        // for which a leader is kept by each other rank of its node
  int ranks_per_node = 0;    // 0: all share one
};
MessageCosts costs_of_commands(const Machine& machine);   // of what devices send to each other
MessageCosts costs_of_host_data(const Machine& machine);  // of what programs do

/// [rank] when it has the result, if the ranks start at `starts`, [rank]: seconds. For ordered, recursive_doubling, tree and
/// two_level; throws unsupported for the others, of which a description says nothing. Work: a message each.
std::vector<double> all_reduce_ends(const AllReduceOptions& options, const MessageCosts& costs, std::vector<double> starts);

/// The same for all at once from 0 on: when the last one has it.
double all_reduce_time(const AllReduceOptions& options, const MessageCosts& costs, int ranks);

}  // namespace sordino
