// Trees that a GPU makes: bit by bit those of the host's threads.
#include <algorithm>

#include "full_gpu.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "support.hpp"
#include "unit/hmatrix/clouds.hpp"

namespace {

using namespace sordino;
using namespace sordino::hmatrix;

void compare(const std::vector<double>& points, const TreeOptions& options) {
  const i64 n = i64(points.size()) / 3;
  const int gpus[] = {0};
  const Trees here = make_trees(points.data(), n, options), there = make_trees_on_gpus(gpus, points.data(), n, options);
  CHECK(there.clusters.order == here.clusters.order);
  CHECK(std::ranges::equal(there.clusters.clusters, here.clusters.clusters, clouds::same));
  CHECK(there.blocks.nodes == here.blocks.nodes);
  CHECK(std::ranges::equal(there.blocks.leaves, here.blocks.leaves, {}, clouds::numbers, clouds::numbers));
}

}  // namespace

TEST("a GPU makes the trees of the host, of points and leaves of all kinds") {
  NOTE(fresh::said());
  fresh::Random random(62);
  test::need_gpu();
  for (const clouds::Cloud& cloud : clouds::all(random))
    for (const TreeOptions& options :
         {TreeOptions{}, TreeOptions{.leaf = 1}, TreeOptions{.eta = 0.5, .leaf = 40}, TreeOptions{.eta = 7.3, .leaf = 100}}) {
      NOTE(cloud.name, " leaf ", options.leaf);
      compare(cloud.points, options);
    }
}

TEST("a GPU makes the trees of the host, of spheres whose boxes lie at the very distance that eta asks for") {
  test::need_gpu();
  for (auto [m0, M] : {std::pair{3, 1}, {4, 4}, {13, 20}, {25, 45}}) compare(clouds::centres_of_a_sphere(m0, M), {});
  std::vector<double> lattice;
  for (int k = 0; k < 24 * 24 * 24; k++)
    for (int place : {k % 24, k / 24 % 24, k / 576}) lattice.push_back(place);
  for (double eta : {0.5, 1.0, 2.0}) compare(lattice, {.eta = eta});
}

TEST("threads make the trees where a GPU has no memory left for them") {
  test::need_gpu();
  test::FullGpu full;
  compare(clouds::centres_of_a_sphere(25, 45), {});
}

TEST("a GPU refuses points and options of which there are no trees, and GPUs that are not there") {
  test::need_gpu();
  const std::vector<double> point{1, 2, 3};
  const int gpus[] = {0}, none[] = {4096};
  auto code = [&](std::span<const int> on, i64 n, const TreeOptions& options) {
    try {
      make_trees_on_gpus(on, point.data(), n, options);
    } catch (const Error& e) {
      return e.code();
    }
    return Errc::io;  // not refused
  };
  CHECK(code(gpus, 0, {}) == Errc::bad_argument);
  CHECK(code(gpus, 1, {.eta = 0}) == Errc::bad_argument);
  CHECK(code(gpus, 1, {.leaf = 0}) == Errc::bad_argument);
  CHECK(code(none, 1, {}) == Errc::device);
}
