// Builds the exchange of a matrix's off-rank columns: who sends which rows to whom, and where they land.
#pragma once
#include <memory>
#include <vector>

#include "sordino/linalg/partition.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// `ghosts`: the global columns this rank's rows touch outside its own, increasing, without repetition.
/// Collective: every rank tells every other what it needs. Ghost k of the result lies at storage row rows + k.
/// Cost: ranks^2 small host messages, once.
Exchange make_halo(Rank& rank, const Partition& partition, const Space& space, const std::vector<i64>& ghosts);

/// Every rank sends its rows to all others; vectors are replicated and rows lie at their global places.
Exchange make_gather(Rank& rank, const Partition& partition, const Space& replicated);

/// Merges tiles for which `needed[tile]` into ranges (first), and the others (second).
std::pair<std::vector<RowRange>, std::vector<RowRange>> split_tiles(const Space& space, const std::vector<char>& needed);

}  // namespace sordino
