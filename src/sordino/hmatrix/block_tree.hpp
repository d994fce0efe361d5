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

/// A block is admissible if the smaller of its clusters' boxes is at most `eta` times as large as their distance, and both
/// have at least `least` points and do not touch; it is dense if one of its clusters is a leaf, or has at most so many
/// points. The boxes are those of points, so elements of an admissible block may touch.
struct BlockRule {
  double eta;
  i32 least;

  /// Clusters with the diameters of their boxes.
  SORDINO_HD bool is_admissible(const Cluster& row, const Cluster& column, double of_row, double of_column) const {
    if (row.size() < least || column.size() < least) return false;
    const double distance = row.box.distance(column.box);
    return distance > 0 && (of_row < of_column ? of_row : of_column) <= eta * distance;
  }
  SORDINO_HD bool is_small(const Cluster& row, const Cluster& column) const {
    return row.size() <= least || column.size() <= least || row.is_leaf() || column.is_leaf();
  }
};

/// Throws bad_argument for an eta that is not positive.
void require_eta(double eta);

struct BlockTree {
  BlockTree() = default;
  /// By the rule of `eta` and `least`. `threads` as for a ClusterTree. Memory: 20 B a leaf, while it is made three times that.
  BlockTree(const ClusterTree& tree, double eta, i32 least, int threads = 0);

  LargeArray<Block> leaves;  // by first row, then by first column
  i64 nodes = 0;             // that are no leaves
};

}  // namespace sordino::hmatrix
