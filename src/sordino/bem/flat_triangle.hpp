// The integral of 1/r over a flat triangle, in closed form (000, section V; the sum over edges is that of Wilton et al. 1984,
// the solid angle that of van Oosterom and Strackee 1983). For the host and for GPUs.
#pragma once
#include <cmath>

#include "sordino/base/types.hpp"

namespace sordino::bem {

struct Point {
  double x, y, z;

  SORDINO_HD Point operator+(Point o) const { return {x + o.x, y + o.y, z + o.z}; }
  SORDINO_HD Point operator-(Point o) const { return {x - o.x, y - o.y, z - o.z}; }
  SORDINO_HD Point operator*(double a) const { return {a * x, a * y, a * z}; }
};

SORDINO_HD inline double dot(Point a, Point b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
SORDINO_HD inline Point cross(Point a, Point b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
SORDINO_HD inline double length(Point a) { return sqrt(dot(a, a)); }

/// A triangle with what its integrals share: 176 B.
struct FlatTriangle {
  Point corner[3];
  Point outward[3];  // of the edge from corner e to the next one, in the plane, of length 1
  double side[3];    // its length
  Point normal;      // of length 1
  double area;

  /// The area must not be 0.
  SORDINO_HD static FlatTriangle of(Point a, Point b, Point c) {
    FlatTriangle t{{a, b, c}, {}, {}, cross(b - a, c - a), 0};
    const double twice = length(t.normal);
    t.area = 0.5 * twice;
    t.normal = t.normal * (1 / twice);
    for (int e = 0; e < 3; e++) {
      const Point edge = t.corner[(e + 1) % 3] - t.corner[e];
      t.side[e] = length(edge);
      t.outward[e] = cross(edge, t.normal) * (1 / t.side[e]);
    }
    return t;
  }

  /// The integral of 1 / |x - y| over y in the triangle, x anywhere. 3 roots, 3 logarithms, 1 arc tangent. Relative error: some
  /// roundings times the distance over the triangle's diameter, for slivers, too.
  SORDINO_HD double potential(Point x) const {
    const Point to[3] = {corner[0] - x, corner[1] - x, corner[2] - x};
    const double r[3] = {length(to[0]), length(to[1]), length(to[2])};
    const double height = dot(normal, to[0]);
    double sum = 0;
    for (int e = 0; e < 3; e++) {
      const double off = dot(outward[e], to[e]), more = detour(e, to[e], r[e], r[(e + 1) % 3], off * off + height * height);
      if (more > 0) sum += off * log1p(2 * side[e] / more);  // else x lies on the edge, which then adds nothing
    }
    if (height == 0) return sum;
    const double triple = 2 * area * height;  // of the three edges from x
    const double rest = r[0] * r[1] * r[2] + dot(to[0], to[1]) * r[2] + dot(to[1], to[2]) * r[0] + dot(to[2], to[0]) * r[1];
    const double solid_angle = 2 * atan2(fabs(triple), rest);
    return sum - fabs(height) * solid_angle;
  }

 private:
  /// How much longer than edge e the way by x is, which has the square of the distance d2 from its line: beside the edge as
  /// what both parts are longer than their own feet, or lengths would cancel.
  SORDINO_HD double detour(int e, Point to_begin, double r_begin, double r_end, double d2) const {
    const Point along = cross(normal, outward[e]);
    const double begin = dot(along, to_begin), end = begin + side[e];
    if (begin < 0 && end > 0) return d2 / (r_begin - begin) + d2 / (r_end + end);
    return r_begin + r_end - side[e];
  }
};

}  // namespace sordino::bem
