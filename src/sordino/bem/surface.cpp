#include "sordino/bem/surface.hpp"

#include <string>

#include "sordino/base/error.hpp"

namespace sordino::bem {
namespace {

std::string corner_of(int k, i64 triangle) {
  return "corner " + std::to_string(k) + " of triangle " + std::to_string(triangle);
}

Point corner(const SurfaceView& s, i64 triangle, int k) {
  const i64 c = s.triangles[3 * triangle + k];
  if (c < 0 || c >= s.n_corners)
    bad_argument(corner_of(k, triangle) + " is point " + std::to_string(c) + ", and there are " + std::to_string(s.n_corners));
  const double* p = s.corners + 3 * c;
  if (!std::isfinite(p[0]) || !std::isfinite(p[1]) || !std::isfinite(p[2]))
    bad_argument(corner_of(k, triangle) + " is not finite");
  return {p[0], p[1], p[2]};
}

}  // namespace

Triangles::Triangles(const SurfaceView& surface) {
  if (surface.n < 1) bad_argument("the surface has no triangles");
  all.reserve(std::size_t(surface.n));
  centroids.reserve(std::size_t(surface.n));
  for (i64 t = 0; t < surface.n; t++) {
    const Point a = corner(surface, t, 0), b = corner(surface, t, 1), c = corner(surface, t, 2);
    all.push_back(FlatTriangle::of(a, b, c));
    const Point sum = a + b + c;
    centroids.push_back({sum.x / 3, sum.y / 3, sum.z / 3});
    if (!(all.back().area > 0)) bad_argument("triangle " + std::to_string(t) + " has no area");
  }
}

}  // namespace sordino::bem
