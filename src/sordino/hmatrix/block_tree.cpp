#include "sordino/hmatrix/block_tree.hpp"

#include <algorithm>
#include <tuple>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i32 strip = 2048;      // rows whose leaves a thread collects
constexpr i64 few_boxes = 4096;  // that a thread measures

struct Pair {
  i32 row, column;  // clusters
};

/// What begins in some rows.
struct Part {
  std::vector<Block> leaves;
  i64 nodes = 0;
};

/// Descends from the root to the blocks that begin in some rows, and to no others.
class Collector {
 public:
  Collector(const ClusterTree& tree, double eta, i32 least, int threads)
      : clusters_(tree.clusters), rule_{eta, least}, diameters_(tree.clusters.size()) {
    auto measure = [this](i64 begin, i64 end) {
      for (std::size_t c = std::size_t(begin); c < std::size_t(end); c++) diameters_[c] = clusters_[c].box.diameter();
    };
    for_parts(0, i64(clusters_.size()), measure, few_boxes, threads);
  }

  Part operator()(RowRange range) const {
    Part part;
    for (std::vector<Pair> open{{0, 0}}; !open.empty();) {
      const Pair pair = open.back();
      open.pop_back();
      const Cluster &row = cluster(pair.row), &column = cluster(pair.column);
      if (row.end <= range.begin || row.begin >= range.end) continue;
      const bool begins_here = row.begin >= range.begin;
      const bool admissible = rule_.is_admissible(row, column, diameter(pair.row), diameter(pair.column));
      if (admissible || rule_.is_small(row, column)) {
        if (begins_here) part.leaves.push_back({{row.begin, row.end}, {column.begin, column.end}, admissible});
        continue;
      }
      part.nodes += begins_here;
      for (i32 i = 0; i < 2; i++)
        for (i32 j = 0; j < 2; j++) open.push_back({row.sons + i, column.sons + j});
    }
    auto place = [](const Block& b) { return std::tuple(b.rows.begin, b.columns.begin); };
    std::ranges::sort(part.leaves, {}, place);
    return part;
  }

 private:
  const Cluster& cluster(i32 c) const { return clusters_[std::size_t(c)]; }
  double diameter(i32 c) const { return diameters_[std::size_t(c)]; }

  const std::vector<Cluster>& clusters_;
  BlockRule rule_;
  std::vector<double> diameters_;
};

}  // namespace

void require_eta(double eta) {
  if (!(eta > 0)) bad_argument("eta is a positive number");
}

BlockTree::BlockTree(const ClusterTree& tree, double eta, i32 least, int threads) {
  require_eta(eta);
  const Collector collect(tree, eta, least, threads);
  const i32 n = tree.clusters[0].end;
  std::vector<Part> parts(std::size_t((n - 1) / strip + 1));
  auto collect_part = [&](i64 p, i64, int) {
    const i32 first = i32(p) * strip;
    parts[std::size_t(p)] = collect({first, first + std::min(strip, n - first)});
  };
  deal_out(i64(parts.size()), 1, threads, collect_part);
  std::vector<std::size_t> before{0};
  for (const Part& part : parts) {
    before.push_back(before.back() + part.leaves.size());
    nodes += part.nodes;
  }
  leaves = LargeArray<Block>(before.back());
  auto copy = [&](i64 p, i64, int) {
    std::ranges::copy(parts[std::size_t(p)].leaves, leaves.begin() + before[std::size_t(p)]);
  };
  deal_out(i64(parts.size()), 1, threads, copy);
}

}  // namespace sordino::hmatrix
