// Both trees of an H-matrix.
#pragma once
#include <span>

#include "sordino/hmatrix/block_tree.hpp"

namespace sordino::hmatrix {

struct TreeOptions {
  double eta = 2;   // of admissibility
  i32 leaf = 15;    // points of a cluster that is not cut
  int threads = 0;  // 0: as many as there are cores
};

struct Trees {
  ClusterTree clusters;
  BlockTree blocks;
};

/// Of points [n][3], by threads. Throws bad_argument for what no tree is made of.
Trees make_trees(const double* points, i64 n, const TreeOptions& options);
/// The same bits, made by the first of GPUs with these CUDA numbers, while the others are begun; by threads where it has too
/// little memory: 60 B a point, 80 B a cluster and some 120 B a block, given back at the end. Throws bad_argument for what no
/// tree is made of, `unsupported` where there is no code for GPUs, and `device` for a GPU that is not there, fails, or does not
/// answer for a minute.
Trees make_trees_on_gpus(std::span<const int> gpus, const double* points, i64 n, const TreeOptions& options);

}  // namespace sordino::hmatrix
