// Surfaces of triangles, and what kernels that are collocated on them share.
#pragma once
#include <vector>

#include "sordino/bem/flat_triangle.hpp"

namespace sordino::bem {

/// A surface of triangles: corners [.][3], and three of them for each triangle.
struct SurfaceView {
  const double* corners = nullptr;
  i64 n_corners = 0;
  const i64* triangles = nullptr;  // [n][3]
  i64 n = 0;
};

/// A copy of a surface, with the points that triangles stand for. Memory: 200 B a triangle.
struct Triangles {
  /// Throws bad_argument for a corner that is not there, or not finite, and for a triangle without area.
  explicit Triangles(const SurfaceView& surface);
  i64 size() const { return i64(all.size()); }

  std::vector<FlatTriangle> all;
  std::vector<Point> centroids;
};

}  // namespace sordino::bem
