// Trees of clusters and of blocks against their definitions, one cluster and one pair after the other, on any number of
// threads.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/hmatrix/block_tree.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/clouds.hpp"

namespace {

using namespace sordino;
using namespace sordino::hmatrix;
using clouds::Cloud, clouds::numbers, clouds::same;

Box box_of(const Cloud& cloud, std::span<const i32> places) {
  Box box;
  for (int axis = 0; axis < 3; axis++) {
    auto x = [&](i32 p) { return cloud.points[3 * std::size_t(p) + std::size_t(axis)]; };
    box.lower[axis] = x(*std::ranges::min_element(places, {}, x)) + 0.0;  // zeros are positive
    box.upper[axis] = x(*std::ranges::max_element(places, {}, x)) + 0.0;
  }
  return box;
}

/// Cuts one cluster after the other.
struct PlainClusters {
  std::vector<Cluster> clusters;
  std::vector<i32> order;

  PlainClusters(const Cloud& cloud, i32 most) : order(std::size_t(cloud.size())) {
    std::iota(order.begin(), order.end(), 0);
    clusters.push_back({0, i32(cloud.size())});
    for (std::size_t c = 0; c < clusters.size(); c++) {
      const i32 begin = clusters[c].begin, end = clusters[c].end;
      const std::span<i32> own(order.data() + begin, order.data() + end);
      const Box box = clusters[c].box = box_of(cloud, own);
      int axis = 0;
      for (int other : {1, 2})
        if (box.side(other) > box.side(axis)) axis = other;
      if (end - begin <= most || box.side(axis) == 0) continue;
      const double middle = 0.5 * (box.lower[axis] + box.upper[axis]);
      auto below = [&](i32 p) { return cloud.points[3 * std::size_t(p) + std::size_t(axis)] <= middle; };
      const i32 cut = begin + i32(std::ranges::count_if(own, below));
      if (cut == end) continue;
      std::ranges::stable_partition(own, below);
      clusters[c].sons = i32(clusters.size());
      clusters.push_back({begin, cut});
      clusters.push_back({cut, end});
    }
  }
};

/// Halves one pair after the other.
struct PlainBlocks {
  const std::vector<Cluster>& clusters;
  double eta;
  i32 least;
  std::vector<Block> leaves = {};
  i64 nodes = 0;

  void visit(const Cluster& row, const Cluster& column) {
    const Block whole{{row.begin, row.end}, {column.begin, column.end}};
    const i32 smaller = std::min(row.size(), column.size());
    const double distance = row.box.distance(column.box), diameter = std::min(row.box.diameter(), column.box.diameter());
    const bool admissible = smaller >= least && distance > 0 && diameter <= eta * distance;
    if (admissible || smaller <= least || row.is_leaf() || column.is_leaf()) {
      leaves.push_back({whole.rows, whole.columns, admissible});
      return;
    }
    nodes++;
    for (int i : {0, 1})
      for (int j : {0, 1}) visit(clusters[std::size_t(row.sons + i)], clusters[std::size_t(column.sons + j)]);
  }
};

}  // namespace

TEST("clusters are those of their definition, on any number of threads") {
  NOTE(fresh::said());
  fresh::Random random(60);
  for (const Cloud& cloud : clouds::all(random)) {
    NOTE(cloud.name);
    const PlainClusters plain(cloud, 15);
    for (int threads : {0, 1, 2, 7}) {
      const ClusterTree tree(cloud.points.data(), cloud.size(), 15, threads);
      CHECK(tree.order == plain.order);
      CHECK(std::ranges::equal(tree.clusters, plain.clusters, same));
    }
  }
}

TEST("blocks are those of their definition, by first row and first column, on any number of threads") {
  NOTE(fresh::said());
  fresh::Random random(61);
  for (const Cloud& cloud : clouds::all(random)) {
    NOTE(cloud.name);
    const ClusterTree tree(cloud.points.data(), cloud.size(), 31, 1);
    PlainBlocks plain{tree.clusters, 2, 32};
    plain.visit(tree.clusters[0], tree.clusters[0]);
    std::ranges::sort(plain.leaves, {}, numbers);
    for (int threads : {0, 1, 2, 7}) {
      const BlockTree blocks(tree, 2, 32, threads);
      CHECK(blocks.nodes == plain.nodes);
      CHECK(std::ranges::equal(blocks.leaves, plain.leaves, {}, numbers, numbers));
    }
  }
}
