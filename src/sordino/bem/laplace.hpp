// The single layer potential of Laplace's equation on triangles: the electrostatic problem of 000, section V.
#pragma once
#include <vector>

#include "sordino/bem/flat_triangle.hpp"
#include "sordino/hmatrix/generator.hpp"

namespace sordino::bem {

/// F/m, CODATA 2022. HACApK has 8.854187818e-12.
inline constexpr double vacuum_permittivity = 8.8541878188e-12;

/// A surface of triangles: corners [.][3], and three of them for each triangle.
struct SurfaceView {
  const double* corners = nullptr;
  i64 n_corners = 0;
  const i64* triangles = nullptr;  // [n][3]
  i64 n = 0;
};

/// Entry (i, j): the potential, in volts, that a charge of 1 C/m^2 on triangle j makes at the centroid of triangle i. Constant
/// on triangles, collocated, integrated in closed form; not symmetric. Memory: 200 B a triangle.
class Laplace final : public hmatrix::Generator {
 public:
  /// Copies the surface. Throws bad_argument for a corner that is not there, or not finite, and for a triangle without area.
  explicit Laplace(const SurfaceView& surface);
  i64 size() const override { return i64(triangles_.size()); }
  const double* points() const override { return &centroids_[0].x; }
  void entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const override;

 private:
  std::vector<FlatTriangle> triangles_;
  std::vector<Point> centroids_;
};

}  // namespace sordino::bem
