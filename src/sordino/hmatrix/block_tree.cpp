#include "sordino/hmatrix/block_tree.hpp"

#include <algorithm>
#include <tuple>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {
namespace {

struct Pair {
  i32 row, column;  // clusters
};

}  // namespace

BlockTree::BlockTree(const ClusterTree& tree, double eta, i32 least) {
  if (!(eta > 0)) bad_argument("eta is a positive number");
  std::vector<double> diameters;
  for (const Cluster& c : tree.clusters) diameters.push_back(c.box.diameter());
  std::vector<Pair> open{{0, 0}};
  while (!open.empty()) {
    const auto [r, c] = open.back();
    open.pop_back();
    const Cluster &row = tree.clusters[std::size_t(r)], &column = tree.clusters[std::size_t(c)];
    const RowRange rows{row.begin, row.end}, columns{column.begin, column.end};
    const i32 size = std::min(row.size(), column.size());
    const double diameter = std::min(diameters[std::size_t(r)], diameters[std::size_t(c)]);
    const double distance = row.box.distance(column.box);
    if (size >= least && distance > 0 && diameter <= eta * distance) {
      leaves.push_back({rows, columns, true});
    } else if (size <= least || row.is_leaf() || column.is_leaf()) {
      leaves.push_back({rows, columns, false});
    } else {
      nodes++;
      for (i32 i = 0; i < 2; i++)
        for (i32 j = 0; j < 2; j++) open.push_back({row.sons + i, column.sons + j});
    }
  }
  auto place = [](const Block& b) { return std::tuple(b.rows.begin, b.columns.begin); };
  std::sort(leaves.begin(), leaves.end(), [&](const Block& a, const Block& b) { return place(a) < place(b); });
}

}  // namespace sordino::hmatrix
