// A described machine: the plain numbers from which the model engine tells time. Described machines come from microbenchmarks
// or data sheets (layer perf); this file only says what the numbers mean.
//
// What they leave out: messages that meet in a switch or at their receiver, and caches other than the last one before memory.
#pragma once
#include <map>
#include <string>

#include "sordino/base/types.hpp"

namespace sordino {

/// A command that takes longer or shorter than its bytes say, for caches or for loads that are far apart, and not as long on
/// every rank.
struct Pace {
  double bandwidth = 0;  // B/s; 0: the machine's
  double spread = 0;     // the part of its time that is random: exponential, of the same mean, drawn by each rank for each call
};

/// An operating system that takes a rank's processor away at random times. Whoever waits meanwhile loses nothing.
struct Interruptions {
  double hz = 0;       // so many a second
  double seconds = 0;  // for so long each
  double share() const { return hz * seconds; }
};

/// The last cache before a device's memory: what a command finds there, of what the commands before it have touched, takes this
/// bandwidth instead of the memory's (runtime/model/cache.hpp).
struct Cache {
  double bytes = 0;      // 0: not described, and every byte is the memory's
  double share = 1;      // of it that holds different data: 0.5 where two halves keep their own copies of what both have read
  double bandwidth = 0;  // B/s read and written
  double capacity() const { return bytes * share; }
};

/// Blocks of a command for which the command before has left no place begin when that has ended, and reach their rows later
/// than those that have waited on the device.
struct LateBlocks {
  double rows = 0;     // of a command that leaves none: more than these
  double seconds = 0;  // later; 0: nobody is
};

/// What tasks of a triangular solve take on a device; a bandwidth or latency of 0 follows from the machine's other numbers. The
/// others were measured or fitted on H200s (docs/theory/004.md), and are the ones that Python's descriptions take.
struct TriangularTasks {
  int workers = 528;                   // of a device: four thread blocks on each of 132 multiprocessors
  double bandwidth = 0;                // B/s at which all workers together take values; 0: 0.91 of the memory's
  double worker_bandwidth = 0;         // B/s at which one of them does alone; 0: 12.7 times its share of that
  double step_s = 2.8e-6;              // from a task's values and needs being there to its end
  double round_s = 1.7e-6;             // more for each further round of values, which comes when the one before it is used
  double small_block_s = 2.3e-6;       // more for each small block of subtrees that one of a worker's four warps takes,
  double small_block_back_s = 1.5e-6;  //   and on the way back
  double flag_s = 2.05e-6;             // from a task's end to others of the device seeing it, with memory that nobody else asks
  double message_s = 0;                // to another device of the node seeing it, beside bytes; 0: link_latency_s
  double column = 0.16;                // time of each further right-hand side of a pass, in times that of values with the first
  double backward = 0.92;              // part of the bandwidths that is reached from the root to the leaves
};

struct Machine {
  double launch_s = 0.5e-6;
  double memory_bandwidth = 4e12;
  double flops = 0;
  double link_latency_s = 1.3e-6;
  double link_bandwidth = 300e9;
  double put_overhead_s = 0.2e-6;
  double reduction_base_s = 2e-6;
  double reduction_hop_s = 0;
  double reduction_start_s = 0;
  double jitter_s = 0;
  int ranks_per_node = 0;
  double internode_latency_s = 2e-6;
  double internode_bandwidth = 25e9;
  int workers = 2;
  double host_overhead_s = 0;
  double loopback_latency_s = 0;
  double leader_skew_s = 0;
  std::map<std::string, Pace> paces = {};  // by command
  Interruptions interruptions = {};
  u64 draws = 0;  // another number, other random times of paces and interruptions
  Cache cache = {};
  double push_s = 0;  // of a message's latency: for which the command that sends it lasts yet, beside its other rows
  LateBlocks late_blocks = {};
  TriangularTasks triangular = {};

  /// visit(name, value, unit, meaning) for each number that every description has, in the order above.
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("launch_s", self.launch_s, "s", "before a command does anything");
    visit("memory_bandwidth", self.memory_bandwidth, "B/s", "of one device, shared by queues that compute at the same time");
    visit("flops", self.flops, "flop/s", "of one device; 0: never the limit");
    visit("link_latency_s", self.link_latency_s, "s", "of a message between devices of one node");
    visit("link_bandwidth", self.link_bandwidth, "B/s", "at which a device sends within its node, one message after the other");
    visit("put_overhead_s", self.put_overhead_s, "s", "for which sending a message keeps its queue busy");
    visit("reduction_base_s", self.reduction_base_s, "s",
          "from the last rank's start of a reduction to its result, on any number of ranks > 1");
    visit("reduction_hop_s", self.reduction_hop_s, "s", "more for each doubling of the number of ranks");
    visit("reduction_start_s", self.reduction_start_s, "s",
          "for which starting a reduction keeps its queue busy: a device adds up its own rows' sums");
    visit("jitter_s", self.jitter_s, "s", "most random delay of each launch, message and reduction");
    visit("ranks_per_node", self.ranks_per_node, "ranks", "of one node; 0: all ranks share one");
    visit("internode_latency_s", self.internode_latency_s, "s", "of a message between nodes");
    visit("internode_bandwidth", self.internode_bandwidth, "B/s", "at which a device sends to other nodes");
    visit("workers", self.workers, "task groups", "a device computes at the same time; others wait their turn");
    visit("host_overhead_s", self.host_overhead_s, "s", "for which sending host data keeps a rank's program busy");
    visit("loopback_latency_s", self.loopback_latency_s, "s",
          "of host data between ranks of one node that goes through their network adapter");
    visit("leader_skew_s", self.leader_skew_s, "s",
          "for which a node's leader is busy with each other rank whose data it gathers, or to which it spreads data");
  }

  /// Seconds between the last rank's start of a reduction and its result.
  double reduction(int ranks) const;
  bool same_node(int a, int b) const { return ranks_per_node == 0 || a / ranks_per_node == b / ranks_per_node; }
  /// Seconds that a device alone takes to move `bytes`, of which `cached` are in its cache, and compute `flop`; of a command
  /// with a spread, in the mean. A bandwidth of a command's own is of all its bytes, wherever they are.
  double compute(const std::string& command, double bytes, double flop, double cached = 0) const;
  /// Seconds before a command of so many rows does anything.
  double launch(double rows) const { return launch_s + (rows > late_blocks.rows ? late_blocks.seconds : 0); }
  /// Whether its bytes take a bandwidth of its own.
  bool paced(const std::string& command) const;
  /// The random part of a command's time.
  double spread(const std::string& command) const;
};

/// Throws bad_argument with one sentence if a number cannot be meant.
void validate(const Machine& machine);

/// A machine from exactly its names and numbers. Throws bad_argument for a name too many, one too few, or a bad number.
Machine machine_from(const std::map<std::string, double>& numbers);

}  // namespace sordino
