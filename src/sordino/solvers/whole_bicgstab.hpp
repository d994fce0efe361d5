// BiCGStab of 000, Fig. 2(a), on whole vectors: every rank holds all of each vector, multiplies its own rows, and gathers the
// product. Redundant, each rank does all vector operations itself (section III); hierarchical, the ranks of a group share the
// update of x and the dot products after the first (section VI-E), and do the other operations redundantly.
//
// Redundant, an iteration reduces nothing. Hierarchical, it has three exchanges more within groups, of 16 B for each block of
// the sums, and six commands more; the update of x and the dot products are divided by the ranks of a group. x is gathered
// within groups when somebody looks at it.
// Deviation: the paper adds what GPUs have found over NVLink and on the CPU. Here ranks exchange the sums of blocks, and add
// all blocks in their order, so that both ways have the same bits, in groups of any size.
#pragma once
#include "sordino/solvers/bicgstab.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino {

/// How a solver on whole vectors divides vector operations: not at all, or by groups of ranks (Operator::group()).
enum class WholeVectors { redundant, hierarchical };

/// Bicgstab with whole vectors, which is no method of the list: it takes a diagonal M. `scalars_by_host`: bicgstab_scalars.hpp.
const MethodEntry& whole_bicgstab(WholeVectors how, bool scalars_by_host = false);

}  // namespace sordino
