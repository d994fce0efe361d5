// Schedules of collectives, one function each. They work on an operation's `values`, or on its `parts`, [rank]; o is the
// overhead of a message, L its latency, P the number of ranks of the team.
#pragma once
#include "sordino/comm/operation.hpp"

namespace sordino::schedules {

/// Ranks that do something together, in order. Schedules count places in it, and the operation's ranks only to send.
class Team {
 public:
  explicit Team(const Operation& all) : size_(all.size()), me_(all.rank()) {}
  Team(std::vector<int> ranks, int me) : ranks_(std::move(ranks)), size_(int(ranks_.size())), me_(me) {}
  int size() const { return size_; }
  int me() const { return me_; }  // place of this rank
  int operator[](int place) const { return ranks_.empty() ? place : ranks_[std::size_t(place)]; }

 private:
  std::vector<int> ranks_;  // empty: all
  int size_, me_;
};

/// Whom a rank of a k-nomial tree hears and tells. Places are counted from the root: the subtree of place r at step k^i are the
/// places r, ..., r + k^i - 1, so that folding children in their order folds ranks in theirs.
struct TreePlace {
  int parent = -1;                         // -1: the root
  std::vector<std::vector<int>> children;  // [step] lowest first
};
TreePlace tree_place(int place, int size, int degree);

/// After ceil(log2 P) rounds every rank has heard, through others, of all. Source: Hensgen, Finkel, Manber 1988
/// (dissemination).
Schedule barrier(Operation& op);

/// `values` of all ranks, folded, are rank `root`'s. P - 1 messages; ends at the root after d (o + L) with d the most steps of
/// a path, ceil(log_k P) on a full tree. Source: paper 003, section IV-B, figure 2.
Schedule reduce_by_tree(Operation& op, const Team& team, int root, int degree);
/// `values` of `root` are everybody's. P - 1 messages; ends after ceil(log_k P) ((k - 1) o + L) on a full tree. The same
/// source.
Schedule broadcast_by_tree(Operation& op, const Team& team, int root, int degree);

/// All-reduces: `values` of all ranks, folded, are everybody's.
/// P (P - 1) messages; ends after (P - 1) o + L. The bits of a serial loop over ranks: reproducible.
Schedule all_reduce_ordered(Operation& op);
/// log2 P (o + L), and 2 (o + L) more if P is no power of 2. Reproducible. Source: paper 003, section IV-A, figure 1; ranks
/// beyond a power of 2 join a neighbour, as in Thakur, Rabenseifner, Gropp 2005.
Schedule all_reduce_by_doubling(Operation& op);
/// A tree up to rank 0 and another one down. Reproducible. Source: paper 003, section IV-B.
Schedule all_reduce_by_tree(Operation& op);
/// Members to their leader, a tree of leaders, leaders to their members. Its bits depend on who shares a node. A leader is busy
/// with 2 (ranks of its node - 1) messages, and late if one of them is. Source: paper 003, sections III-C and IV-C.
Schedule all_reduce_by_leaders(Operation& op);
/// The same with the transport's own all-reduce between the leaders of processes, preceded by one of 16 bytes in which they
/// agree on what they reduce (a library ends the program, or worse, where they differ). Its bits depend on the layout, and on
/// the library. Several in flight may be started in any order: the first leader numbers them, a message to each other one.
Schedule all_reduce_by_library(Operation& op);

/// parts[q] of this rank to rank q, and back: parts[q] is then what rank q had for this one. P - 1 messages a rank, depth 1.
Schedule all_to_all(Operation& op);
/// parts[me] to everybody. P - 1 messages a rank, depth 1.
Schedule all_gather(Operation& op);
/// parts[me] to `root`. One message a rank, depth 1.
Schedule gather(Operation& op, int root);
/// parts[q] of `root` to rank q; everybody's is then parts[me]. P - 1 messages of the root, depth 1.
Schedule scatter(Operation& op, int root);
/// parts[q] of all ranks, folded in their order, are rank q's `values`. P - 1 messages a rank, depth 1. Reproducible.
Schedule reduce_scatter(Operation& op);

/// The schedule of an operation's signature.
Schedule of(Operation& op);

}  // namespace sordino::schedules
