// Which way an all-reduce takes, of host data or of a recorded program's sums, and how many messages that are.
//
// P ranks; "depth" counts messages that follow one another, each an overhead and a latency. "Reproducible": the bits of a
// result depend on the values and on P alone, and not on how ranks are spread over processes and nodes. With every algorithm
// all ranks get the same bits.
#pragma once
#include "sordino/runtime/engine.hpp"

namespace sordino {

enum class Algorithm : std::uint8_t {
  automatic,  // of recorded sums, and on few ranks, `ordered`; else of host data what is fastest, see chosen()
  fastest,    // by what the engine says of its machine
  ordered,    // parts of all ranks to all ranks, folded in their order: as a serial loop. P - 1 messages a rank, depth 1
  recursive_doubling,  // partners at distance 1, 2, 4, ...: log2 P messages a rank, depth log2 P; 2 more unless P = 2^n
  tree,                // reduce to rank 0, broadcast from there: 2 (P - 1) messages in all, depth log_k P + log_m P
  two_level,  // to the leader of each process or node, a tree of leaders, and back: the fewest messages over the network
  mpi,        // to the leader of each process, MPI_Iallreduce between these, and back
  nccl,       // ncclAllReduce between commands: recorded sums of engine cuda, where NCCL carries what ranks send
};

const char* name(Algorithm algorithm);
/// The algorithm of this name. Throws bad_argument with the names there are.
Algorithm algorithm_named(const std::string& name);
/// Whether its bits are independent of the layout of ranks.
bool reproducible(Algorithm algorithm);

struct AllReduceOptions {
  Algorithm algorithm = Algorithm::automatic;
  int reduce_degree = 2;     // of the k-nomial tree that reduces: 2, 3 or 4. A higher one is shorter, with more work a step
  int broadcast_degree = 4;  // of the one that broadcasts
  /// Messages of flat algorithms within a node go through the network adapter as well, as where it does the reduction without
  /// the processor (paper 003). Where that is a longer way, it is why two-level algorithms exist. The model tells the
  /// difference.
  bool by_adapter = false;
};

/// What automatic, on more than 16 ranks, and fastest stand for with host data, by Engine::described(): messages to everybody,
/// an overhead o each, or, once that takes longer, recursive doubling, log2 P overheads and latencies. Both are reproducible.
/// Throws bad_argument for a degree that there is none of, unsupported for mpi on an engine without it.
AllReduceOptions chosen(const AllReduceOptions& options, Engine& engine);

}  // namespace sordino
