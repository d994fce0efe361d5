// Surfaces whose H-matrices are known: the spheres of HACApK's inputs, which are poles and rings of equidistant points.
#pragma once
#include <cmath>
#include <numbers>
#include <vector>

#include "sordino/bem/laplace.hpp"

namespace surfaces {

using namespace sordino;

struct Surface {
  std::vector<double> corners;
  std::vector<i64> triangles;

  i64 size() const { return i64(triangles.size()) / 3; }
  bem::SurfaceView view() const { return {corners.data(), i64(corners.size()) / 3, triangles.data(), size()}; }
  void add(double x, double y, double z) { corners.insert(corners.end(), {x, y, z}); }
  void add(i64 a, i64 b, i64 c) { triangles.insert(triangles.end(), {a, b, c}); }
};

/// 2 m0 M^2 triangles: ring k of 2M - 1 has m0 min(k, 2M - k) points. Coordinates have eight digits behind the point, as in the
/// files; that moves a few blocks.
inline Surface sphere(int m0, int M, double radius = 10) {
  Surface s;
  const int rings = 2 * M;
  auto width = [&](int k) { return std::min(k, rings - k); };  // points of a ring in one of m0 sectors
  auto points = [&](int k) { return std::max(1, m0 * width(k)); };
  auto rounded = [](double x) { return std::round(x * 1e8) / 1e8; };
  std::vector<i64> first;
  for (int k = 0; k <= rings; k++) {
    first.push_back(i64(s.corners.size()) / 3);
    const double theta = std::numbers::pi * k / rings;
    for (int p = 0; p < points(k); p++) {
      const double phi = 2 * std::numbers::pi * p / points(k);
      s.add(rounded(radius * std::sin(theta) * std::cos(phi)), rounded(radius * std::sin(theta) * std::sin(phi)),
            rounded(radius * std::cos(theta)));
    }
  }
  auto point = [&](int ring, i64 place) { return first[std::size_t(ring)] + place % points(ring); };
  // Between two rings the wider one has one triangle more.
  auto add_sector = [&](int k, i64 sector) {
    const i64 above = width(k), below = width(k + 1);
    for (i64 i = 0; i <= std::min(above, below); i++) {
      const i64 a = sector * above + i, b = sector * below + i;
      if (above < below) {
        s.add(point(k, a), point(k + 1, b), point(k + 1, b + 1));
        if (i < above) s.add(point(k, a), point(k + 1, b + 1), point(k, a + 1));
      } else {
        s.add(point(k, a), point(k + 1, b), point(k, a + 1));
        if (i < below) s.add(point(k, a + 1), point(k + 1, b), point(k + 1, b + 1));
      }
    }
  };
  for (int k = 0; k < rings; k++)
    for (i64 sector = 0; sector < m0; sector++) add_sector(k, sector);
  return s;
}

}  // namespace surfaces
