// What a GPU does to a level of blocks, which are pairs of clusters: it finds leaves, and descends from the others.
#pragma once
#include "sordino/hmatrix/block_tree.hpp"
#include "sordino/hmatrix/cuda/cluster_kernels.cuh"

namespace sordino::hmatrix::level_kernels {

/// Clusters of rows and of columns.
struct Pair {
  i32 row, column;
};

enum class Kind : signed char { node, dense, admissible };

/// How many of a level's pairs are what.
struct Found {
  Word nodes, leaves;
};

/// What a level of pairs works on. The order of pairs does not matter: leaves are sorted at the end.
struct PairsView {
  const Cluster* clusters;
  const double* diameters;
  BlockRule rule;
  const Pair* pairs;
  i64 count;
  Kind* kinds;   // [count]
  Found* found;  // how many of each there are; then places that are taken
  i64 columns;
  Pair* next = nullptr;     // [4 nodes]
  Block* leaves = nullptr;  // behind those of other levels
  Word* keys = nullptr;     // of leaves: by first row, then by first column
};

static __global__ void measure_boxes(const Cluster* clusters, i64 count, double* diameters) {
  const i64 c = my_number();
  if (c < count) diameters[c] = clusters[c].box.diameter();
}

/// A place behind those that others have taken, for each lane that wants one; a warp asks once.
inline __device__ Word place_in(Word* taken, bool wants) {
  const unsigned who = __ballot_sync(all_lanes, wants), lane = threadIdx.x % 32;
  Word first = 0;
  if (lane == 0 && who) first = atomicAdd(taken, Word(__popc(who)));
  return __shfl_sync(all_lanes, first, 0) + Word(__popc(who & ((1u << lane) - 1)));
}

static __global__ void judge(PairsView v) {
  const i64 k = my_number();
  bool is_node = false, is_leaf = false;
  if (k < v.count) {
    const Pair pair = v.pairs[k];
    const Cluster row = v.clusters[pair.row], column = v.clusters[pair.column];
    const bool admissible = v.rule.is_admissible(row, column, v.diameters[pair.row], v.diameters[pair.column]);
    is_leaf = admissible || v.rule.is_small(row, column);
    is_node = !is_leaf;
    v.kinds[k] = is_node ? Kind::node : admissible ? Kind::admissible : Kind::dense;
  }
  const int nodes = __syncthreads_count(is_node), leaves = __syncthreads_count(is_leaf);
  if (threadIdx.x == 0 && nodes) atomicAdd(&v.found->nodes, Word(nodes));
  if (threadIdx.x == 0 && leaves) atomicAdd(&v.found->leaves, Word(leaves));
}

static __global__ void descend(PairsView v) {
  const i64 k = my_number();
  const bool is_there = k < v.count, is_node = is_there && v.kinds[k] == Kind::node;
  const Word node = place_in(&v.found->nodes, is_node), leaf = place_in(&v.found->leaves, is_there && !is_node);
  if (!is_there) return;
  const Cluster row = v.clusters[v.pairs[k].row], column = v.clusters[v.pairs[k].column];
  if (is_node) {
    for (i32 i = 0; i < 4; i++) v.next[4 * node + Word(i)] = {row.sons + i / 2, column.sons + i % 2};
    return;
  }
  v.leaves[leaf] = {{row.begin, row.end}, {column.begin, column.end}, v.kinds[k] == Kind::admissible};
  v.keys[leaf] = Word(row.begin) * Word(v.columns) + Word(column.begin);
}

}  // namespace sordino::hmatrix::level_kernels
