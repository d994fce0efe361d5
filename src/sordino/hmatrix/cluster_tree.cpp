#include "sordino/hmatrix/cluster_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {
namespace {

Box box_of(const double* points, const i32* first, const i32* last) {
  Box box;
  for (int axis = 0; axis < 3; axis++) {
    box.lower[axis] = std::numeric_limits<double>::infinity();
    box.upper[axis] = -box.lower[axis];
    for (const i32* p = first; p < last; p++) {
      const double x = points[3 * i64(*p) + axis];
      box.lower[axis] = std::min(box.lower[axis], x);
      box.upper[axis] = std::max(box.upper[axis], x);
    }
  }
  return box;
}

int longest_axis(const Box& box) {
  int longest = 0;
  for (int axis = 1; axis < 3; axis++)
    if (box.side(axis) > box.side(longest)) longest = axis;
  return longest;
}

}  // namespace

double Box::diameter() const { return std::hypot(side(0), side(1), side(2)); }

double Box::distance(const Box& other) const {
  double gap[3];
  for (int axis = 0; axis < 3; axis++)
    gap[axis] = std::max({0.0, lower[axis] - other.upper[axis], other.lower[axis] - upper[axis]});
  return std::hypot(gap[0], gap[1], gap[2]);
}

ClusterTree::ClusterTree(const double* points, i64 n, i32 most) : order(std::size_t(n)) {
  if (n < 1) bad_argument("clusters are made of points, and there are none");
  if (n > std::numeric_limits<i32>::max()) throw Error(Errc::unsupported, "more than 2^31 points");
  if (most < 1) bad_argument("a cluster has at least one point: leaf is " + std::to_string(most));
  std::iota(order.begin(), order.end(), 0);
  clusters.push_back({0, i32(n), -1, box_of(points, order.data(), order.data() + n)});
  for (std::size_t c = 0; c < clusters.size(); c++) {
    const Cluster here = clusters[c];
    const int axis = longest_axis(here.box);
    if (here.size() <= most || !(here.box.side(axis) > 0)) continue;
    const double middle = 0.5 * (here.box.lower[axis] + here.box.upper[axis]);
    i32 *first = order.data() + here.begin, *last = order.data() + here.end;
    i32* cut = std::stable_partition(first, last, [&](i32 p) { return points[3 * i64(p) + axis] <= middle; });
    if (cut == last) continue;  // neighbouring numbers: their mean is the greater one
    clusters[c].sons = i32(clusters.size());
    const i32 at = i32(cut - order.data());
    clusters.push_back({here.begin, at, -1, box_of(points, first, cut)});
    clusters.push_back({at, here.end, -1, box_of(points, cut, last)});
  }
}

}  // namespace sordino::hmatrix
