// The potential of a charged triangle against quadrature, and Laplace's matrix against what is known of spheres.
#include "sordino/bem/laplace.hpp"

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/surfaces.hpp"

namespace {

using namespace sordino;
using namespace sordino::bem;

Point corner(fresh::Random& random) { return {random.normal(), random.normal(), random.normal()}; }

/// Duffy's transformation at x's foot would be needed near the triangle; away from it Gauss' rule of 10 x 10 points is enough.
double by_quadrature(const FlatTriangle& t, Point x, int pieces) {
  const double at[5] = {0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717};
  const double weight[5] = {0.2955242247147529, 0.2692667193099963, 0.2190863625159820, 0.1494513491505806, 0.0666713443086881};
  auto node = [&](int k) { return 0.5 * (1 + (k < 5 ? -at[k] : at[k - 5])); };
  const Point a = t.corner[0], ab = t.corner[1] - a, ac = t.corner[2] - a;
  long double sum = 0;
  for (int p = 0; p < pieces; p++)
    for (int q = 0; q < pieces; q++)
      for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
          const double s = (p + node(i)) / pieces, r = (q + node(j)) / pieces;
          const Point y = a + ab * (s * (1 - r)) + ac * (s * r);
          sum += 0.25L * weight[i % 5] * weight[j % 5] * s / length(y - x);
        }
  return double(sum) * 2 * t.area / pieces / pieces;
}

}  // namespace

TEST("the potential of a triangle is that of quadrature, near it and far from it, above it and in its plane") {
  NOTE(fresh::said());
  fresh::Random random(80);
  for (int round = 0; round < 60; round++) {
    const FlatTriangle t = FlatTriangle::of(corner(random), corner(random), corner(random));
    const double reach = std::pow(10.0, random.real(0.3, 2.5));
    Point x = t.corner[0] + corner(random) * (reach * std::sqrt(t.area));
    if (random.chance(0.3)) x = x - t.normal * dot(t.normal, x - t.corner[0]);  // into the plane
    double nearest = 1e300;
    for (int i = 0; i <= 8; i++)
      for (int j = 0; i + j <= 8; j++) {
        const Point y = t.corner[0] + (t.corner[1] - t.corner[0]) * (i / 8.0) + (t.corner[2] - t.corner[0]) * (j / 8.0);
        nearest = std::min(nearest, length(y - x));
      }
    const double longest = std::max({t.side[0], t.side[1], t.side[2]});
    if (nearest < 0.5 * longest) continue;
    const double exact = by_quadrature(t, x, 8);
    NOTE("x at ", nearest / longest, " longest sides");
    CHECK_NEAR(t.potential(x) / exact, 1.0, 2e-13 * std::max(1.0, nearest / longest));
  }
}

TEST("far from a triangle its potential is area / distance, with digits lost by the distance and not its square") {
  const FlatTriangle t = FlatTriangle::of({0, 0, 0}, {1, 0, 0}, {0.3, 0.8, 0});
  for (double far : {1e2, 1e3, 1e4, 1e5}) {
    const Point x{0.6 * far + 1.3 / 3, -0.48 * far + 0.8 / 3, 0.64 * far};
    NOTE("at ", far);
    CHECK_NEAR(t.potential(x) * far / t.area, 1.0, 1e-14 * far + 1 / (far * far));
  }
}

TEST("the potential at the centroid of a sliver is that of its three edges, however flat it is") {
  // At the centroid the sum over the edges is a sum of positive terms: off (asinh(end / off) + asinh(begin / off)) each.
  for (double h : {1e-1, 1e-3, 1e-6, 1e-9, 1e-11}) {
    const Point corner[3] = {{0, 0, 0}, {1, 0, 0}, {0.3, h, 0}};
    const FlatTriangle t = FlatTriangle::of(corner[0], corner[1], corner[2]);
    const double x = 1.3 / 3, y = h / 3;
    long double sum = 0;
    for (int e = 0; e < 3; e++) {
      const Point a = corner[e], b = corner[(e + 1) % 3];
      const long double ex = b.x - a.x, ey = b.y - a.y, side = std::hypot(ex, ey);
      const long double off = std::abs(ex * (y - a.y) - ey * (x - a.x)) / side;
      const long double begin = (ex * (a.x - x) + ey * (a.y - y)) / side;
      sum += off * (std::asinh((begin + side) / off) - std::asinh(begin / off));
    }
    NOTE("height ", h);
    CHECK_NEAR((long double)t.potential({x, y, 0}) / sum, 1.0L, 1e-13L);
  }
}

TEST("the potential at a triangle's centroid, on an edge, on a corner and beyond an edge is finite and what limits say") {
  const FlatTriangle t = FlatTriangle::of({0, 0, 0}, {2, 0, 0}, {0, 3, 0});
  for (Point x : {Point{2.0 / 3, 1, 0}, {1, 0, 0}, {0, 0, 0}, {2, 0, 0}, {4, 0, 0}, {0, -2, 0}, {1, 1.5, 0}}) {
    NOTE("x = ", x.x, " ", x.y);
    const double at = t.potential(x);
    CHECK(std::isfinite(at));
    CHECK(at > 0);
    for (double off : {1e-7, -1e-7}) CHECK_NEAR(t.potential({x.x, x.y, off}) / at, 1.0, 1e-6);
  }
  // An equilateral triangle of side 1, at its centroid: three times the same edge.
  const FlatTriangle e = FlatTriangle::of({0, 0, 0}, {1, 0, 0}, {0.5, std::sqrt(0.75), 0});
  const double height = std::sqrt(0.75) / 3, r = 2 * height;
  CHECK_NEAR(e.potential({0.5, height, 0}), 3 * height * std::log((2 * r + 1) / (2 * r - 1)), 1e-14);
}

TEST("a sphere of constant charge has the potential q R / eps0 on it, to O(h^2)") {
  double last = 1;
  for (int M : {6, 12, 24}) {
    const auto surface = surfaces::sphere(6, M, 2.0);
    const Laplace laplace(surface.view());
    std::vector<i32> all;
    for (i32 j = 0; j < i32(laplace.size()); j++) all.push_back(j);
    std::vector<double> row(all.size());
    double worst = 0;
    for (i32 i : {0, i32(all.size()) / 3, i32(all.size()) / 2}) {
      laplace.entries({&i, 1}, all, row.data());
      double sum = 0;
      for (double a : row) sum += a;
      worst = std::max(worst, std::abs(sum * vacuum_permittivity / 2.0 - 1));
    }
    NOTE("M = ", M);
    CHECK(worst < 0.4 * last);
    last = worst;
  }
  CHECK(last < 5e-3);
}

TEST("surfaces that are none are refused with a sentence") {
  const double corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, std::nan("")};
  auto made = [&](std::vector<i64> triangles) { return Laplace({corners, 5, triangles.data(), i64(triangles.size()) / 3}); };
  CHECK(made({0, 1, 2}).size() == 1);
  CHECK_THROWS(made({}), Error, "no triangles");
  CHECK_THROWS(made({0, 1, 2, 0, 1, 5}), Error, "corner 2 of triangle 1 is point 5, and there are 5");
  CHECK_THROWS(made({0, -1, 2}), Error, "corner 1 of triangle 0 is point -1");
  CHECK_THROWS(made({0, 1, 4}), Error, "not finite");
  CHECK_THROWS(made({0, 1, 2, 0, 1, 3}), Error, "triangle 1 has no area");
}
