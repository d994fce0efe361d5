// Points in space, halved again and again: clusters of points that lie together (000, section II; HACApK's bisection).
#pragma once
#include <vector>

#include "sordino/hmatrix/box.hpp"

namespace sordino::hmatrix {

/// Points [begin, end) of the tree's order, in the smallest box that holds them.
struct Cluster {
  i32 begin = 0, end = 0;
  i32 sons = -1;  // the two stand beside each other from here; -1: a leaf
  Box box = {};

  SORDINO_HD i32 size() const { return end - begin; }
  SORDINO_HD bool is_leaf() const { return sons < 0; }
};

/// Clusters are cut in the middle of the longest side of their box until they have at most `most` points. Points at one place
/// are never parted, so a leaf may have more. Zeros in boxes are positive. Cost: O(n log n), by `threads` threads
/// (thread_count(), base/parallel.hpp), on which the tree does not depend; memory 4 B a point and 72 B a cluster.
struct ClusterTree {
  ClusterTree() = default;
  ClusterTree(const double* points, i64 n, i32 most, int threads = 0);

  std::vector<Cluster> clusters;  // the root first, then level by level; sons stand behind their father
  std::vector<i32> order;         // [n] the point at each place of the order
};

/// Throws bad_argument for points and leaves of which no tree is made.
void require_points(i64 n, i32 most);

}  // namespace sordino::hmatrix
