// Pairs of clusters: those far enough from each other are approximated, small ones are kept as they are (000, section II).
#pragma once
#include "sordino/base/large_array.hpp"
#include "sordino/hmatrix/cluster_tree.hpp"

namespace sordino::hmatrix {

/// Rows and columns of a leaf, in the tree's order.
struct Block {
  RowRange rows, columns;
  bool admissible = false;  // to be approximated; else dense

  i64 entries() const { return i64(rows.size()) * columns.size(); }
};

struct BlockTree {
  /// A block is admissible if the smaller of its clusters' boxes is at most `eta` times as large as their distance, and both
  /// have at least `least` points and do not touch; it is dense if one of its clusters is a leaf, or has at most so many
  /// points. The boxes are those of points, so elements of an admissible block may touch. `threads` as for a ClusterTree.
  /// Memory: 20 B a leaf, while it is made three times that.
  BlockTree(const ClusterTree& tree, double eta, i32 least, int threads = 0);

  LargeArray<Block> leaves;  // by first row, then by first column
  i64 nodes = 0;             // that are no leaves
};

}  // namespace sordino::hmatrix
