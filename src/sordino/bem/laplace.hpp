// The single layer potential of Laplace's equation on triangles: the electrostatic problem of 000, section V.
#pragma once
#include "sordino/bem/surface.hpp"
#include "sordino/hmatrix/generator.hpp"

namespace sordino::bem {

/// F/m, CODATA 2022. HACApK has 8.854187818e-12.
inline constexpr double vacuum_permittivity = 8.8541878188e-12;

/// Entry (i, j): the potential, in volts, that a charge of 1 C/m^2 on triangle j makes at the centroid of triangle i. Constant
/// on triangles, collocated, integrated in closed form; not symmetric. Memory: 200 B a triangle.
class Laplace final : public hmatrix::Generator {
 public:
  /// Copies the surface. Throws bad_argument for one that is none (Triangles).
  explicit Laplace(const SurfaceView& surface) : triangles_(surface) {}
  i64 size() const override { return triangles_.size(); }
  const double* points() const override { return &triangles_.centroids[0].x; }
  void entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const override;
  hmatrix::Trees trees_on_gpus(std::span<const int> gpus, const hmatrix::TreeOptions& options) const override {
    return hmatrix::make_trees_on_gpus(gpus, points(), size(), options);
  }
  std::shared_ptr<hmatrix::LeafDevice<double>> on_gpu(int device, std::span<const i32> order) const override;

 private:
  Triangles triangles_;
};

}  // namespace sordino::bem
