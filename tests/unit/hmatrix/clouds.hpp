// Points whose trees are awkward, and what of two trees is to be the same.
#pragma once
#include <cmath>
#include <tuple>
#include <utility>

#include "sordino/hmatrix/trees.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/surfaces.hpp"

namespace clouds {

using namespace sordino;
using namespace sordino::hmatrix;

struct Cloud {
  const char* name;
  std::vector<double> points;

  i64 size() const { return i64(points.size()) / 3; }
};

template <class Coordinate>
std::vector<double> points_of(i64 n, Coordinate coordinate) {
  std::vector<double> points;
  for (i64 k = 0; k < n; k++)
    for (int axis = 0; axis < 3; axis++) points.push_back(coordinate(k, axis));
  return points;
}

inline std::vector<double> centres_of_a_sphere(int m0, int M) {
  const auto surface = surfaces::sphere(m0, M);
  const bem::Laplace laplace(surface.view());
  return {laplace.points(), laplace.points() + 3 * laplace.size()};
}

inline std::vector<Cloud> all(fresh::Random& random) {
  const i64 n = random.whole(20000, 30000);
  std::vector<Cloud> some{
      {"one point", {1, 2, 3}},
      {"few points", points_of(random.whole(2, 40), [&](i64, int) { return random.real(0, 1); })},
      {"a cube", points_of(n, [&](i64, int) { return random.real(-1, 1); })},
      {"a sphere", centres_of_a_sphere(16, 30)},
      {"a line", points_of(n, [&](i64, int axis) { return axis == 1 ? random.real(0, 1) : 7; })},
      {"one place", points_of(n, [](i64, int) { return -0.0; })},
      {"few places", points_of(n, [&](i64, int) { return double(random.whole(0, 2)); })},
      {"zeros of both signs",
       points_of(n, [&](i64, int) { return random.chance(0.5)   ? 0.0
                                           : random.chance(0.5) ? -0.0
                                                                : 1.0; })},
      {"ever closer", points_of(n, [](i64 k, int axis) { return axis == 0 ? std::ldexp(1.0, -int(k % 1000)) : 0.0; })},
      {"neighbouring numbers", points_of(n, [](i64 k, int) { return k % 2 ? 1.0 : std::nextafter(1.0, 2.0); })},
  };
  return some;
}

inline bool same(const Cluster& a, const Cluster& b) {
  bool boxes = true;  // to the signs of zeros
  for (int axis = 0; axis < 3; axis++)
    for (auto [x, y] : {std::pair{a.box.lower[axis], b.box.lower[axis]}, {a.box.upper[axis], b.box.upper[axis]}})
      boxes = boxes && x == y && std::signbit(x) == std::signbit(y);
  return boxes && a.begin == b.begin && a.end == b.end && a.sons == b.sons;
}

inline auto numbers(const Block& b) {
  return std::tuple(b.rows.begin, b.columns.begin, b.rows.end, b.columns.end, b.admissible);
}

}  // namespace clouds
