// The all-gather of a replicated vector in two hops: between groups of ranks, each row once to each group, and within them
// (000, section VI, where a process with several GPUs receives once for all of them).
#pragma once
#include "sordino/linalg/partition.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Copies the rows that a rank hands on.
struct HandOn {
  static constexpr const char* name = "Hand on";
  Ghost from;
  Out to;
  SORDINO_HD void row(i32 i) { to[i] = from[i]; }
};

using GroupKernels = KernelList<Kernel<HandOn>>;

/// Whether gathers by groups of so many neighbouring ranks have two hops: not where a group is one rank, or all. Throws
/// bad_argument if ranks do not divide into such groups.
bool takes_two_hops(int ranks, int group);

/// Rank k of a group trades its rows with ranks k of all others, and then with its group what it has: its own rows, and those
/// that have come. Of P ranks in groups of G each sends P / G - 1 messages to other groups instead of P - G, and (G - 1) P / G
/// within its own, a slice each. Moves 16 B more for each row that is handed on. A request to stop, which a gather from each to
/// each tells all ranks at once, goes along by both hops, so that all know of it at the end of the second one.
class GroupGather {
 public:
  /// `space`: the number of a replicated space of `partition`. No communication.
  GroupGather(Rank& rank, const Partition& partition, int space, int group);
  GroupGather(const GroupGather&) = delete;  // vectors know its exchanges by address
  const Exchange& first_hop() const { return between_; }
  /// What vectors must have that are gathered: their rows come with the second hop.
  const Exchange& last_hop() const { return within_; }
  /// For the next product: takes its own rows, and is pushed. Two take turns, so that a product need not know whether what the
  /// last one has sent has been handed on.
  Vec next() const { return vectors_[turn_++ % 2]; }
  /// Records the second hop, on a queue of its own, so that what is recorded behind it waits for neither hop unless it reads y.
  void hand_on(Rank& rank, Vec sent, Vec y) const;

 private:
  Exchange between_, within_;
  Split rows_;  // own ones first
  Vec vectors_[2];
  mutable unsigned turn_ = 0;  // of products that are recorded
};

}  // namespace sordino
