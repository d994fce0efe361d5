#include "sordino/hmatrix/cluster_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 least_points = 4096;  // of clusters that a thread takes together

Box box_of(const double* points, const i32* first, const i32* last) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Box box{{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}};
  for (const i32* p = first; p < last; p++)
    for (int axis = 0; axis < 3; axis++) {
      const double x = points[3 * i64(*p) + axis] + 0.0;  // not -0.0
      box.lower[axis] = std::min(box.lower[axis], x);
      box.upper[axis] = std::max(box.upper[axis], x);
    }
  return box;
}

/// Puts the box around a cluster's points and parts them, each half in its order. Where the second one begins; the cluster's
/// end: it is not cut.
i32 cut(Cluster& cluster, const double* points, i32* order, i32 most) {
  i32 *first = order + cluster.begin, *last = order + cluster.end;
  cluster.box = box_of(points, first, last);
  const Cut cut = cut_of(cluster.box, cluster.size(), most);
  if (cut.axis < 0) return cluster.end;
  // Of neighbouring numbers the mean is the greater one: all points may lie below it.
  return i32(std::stable_partition(first, last, [&](i32 p) { return cut.takes_first(points + 3 * i64(p)); }) - order);
}

}  // namespace

void require_points(i64 n, i32 most) {
  if (n < 1) bad_argument("clusters are made of points, and there are none");
  if (n > std::numeric_limits<i32>::max()) throw Error(Errc::unsupported, "more than 2^31 points");
  if (most < 1) bad_argument("a cluster has at least one point: leaf is " + std::to_string(most));
}

ClusterTree::ClusterTree(const double* points, i64 n, i32 most, int threads) : order(std::size_t(n)) {
  require_points(n, most);
  std::iota(order.begin(), order.end(), 0);
  clusters.push_back({0, i32(n)});
  std::vector<i32> cuts;
  for (std::size_t level = 0, end = 1; level < end; level = end, end = clusters.size()) {
    cuts.resize(end - level);
    auto cut_some = [&](i64 from, i64 to, int) {  // clusters of a level have no points in common
      for (std::size_t k = std::size_t(from); k < std::size_t(to); k++)
        cuts[k] = cut(clusters[level + k], points, order.data(), most);
    };
    const i64 count = i64(cuts.size());
    deal_out(count, std::max<i64>(1, count * least_points / n), threads, cut_some);
    for (std::size_t c = level; c < end; c++) {
      const Cluster here = clusters[c];
      const i32 at = cuts[c - level];
      if (at == here.end) continue;
      clusters[c].sons = i32(clusters.size());
      clusters.push_back({here.begin, at});
      clusters.push_back({at, here.end});
    }
  }
}

}  // namespace sordino::hmatrix
