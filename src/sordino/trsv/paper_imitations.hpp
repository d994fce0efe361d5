// Imitations of the matrices of paper 004: block patterns of the sizes in its Table 2, for its model. They are no factors of
// any matrix, and have no values.
#pragma once
#include <string>

#include "sordino/trsv/paper_layout.hpp"

namespace sordino::trsv::paper {

/// A pattern of two parts, with blocks that are full. The trunk is a chain. The other columns are the branches, a binary tree
/// in which each column needs its two children, and have their other blocks in random rows of the trunk. So there are as many
/// levels as the trunk has columns and the tree has.
struct Imitation {
  std::string name;
  i32 supernodes = 0;
  i32 levels = 0;
  double entries = 0;        // of L
  i32 width = 0;             // columns of each supernode
  bool dense_trunk = false;  // else its columns have as many blocks as those of the branches
};

/// S1, DG, LU2, LU4 and Li. Supernodes, entries and levels are those of Table 2. Widths are assumed, so that messages on the
/// critical path come near to those that the paper tells of S1, DG and Li.
const std::vector<Imitation>& imitations();

/// The same pattern for the same seed. Throws bad_argument where it cannot have so many levels or entries.
Pattern pattern_of(const Imitation& imitation, u64 seed = 1);

}  // namespace sordino::trsv::paper
