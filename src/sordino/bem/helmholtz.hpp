// The single layer potential of Helmholtz' equation on triangles: time-harmonic waves, e^{ikr} / (4 pi r), outgoing where time
// goes as e^{-i omega t}.
#pragma once
#include "sordino/bem/surface.hpp"
#include "sordino/bem/wave_integral.hpp"
#include "sordino/hmatrix/generator.hpp"

namespace sordino::bem {

/// Entry (i, j): the integral of e^{ikr} / (4 pi r) over triangle j, r the distance from the centroid of triangle i, in metres.
/// Constant on triangles, collocated; not symmetric. k = 0 is Laplace's 1 / (4 pi r). 1/r is integrated in closed form, and the
/// rest over the edges: relative error 1e-9, as measured from k h = 1e-3 to 30; where edges of more than a wavelength pass by a
/// centroid within a hundredth of their length, 1e-7. Cost of an entry: that of Laplace and some 15 sines and cosines, more for
/// neighbours and for longer edges. Memory: 200 B a triangle.
class Helmholtz final : public hmatrix::GeneratorOf<Complex<double>> {
 public:
  /// Copies the surface; `wavenumber` k in 1/m. Throws bad_argument for a surface that is none (Triangles), for a wavenumber
  /// that is negative or not finite, and for one whose waves are shorter than a sixth of an edge.
  Helmholtz(const SurfaceView& surface, double wavenumber);
  i64 size() const override { return triangles_.size(); }
  const double* points() const override { return &triangles_.centroids[0].x; }
  void entries(std::span<const i32> rows, std::span<const i32> columns, Complex<double>* out) const override;
  hmatrix::Trees trees_on_gpus(std::span<const int> gpus, const hmatrix::TreeOptions& options) const override {
    return hmatrix::make_trees_on_gpus(gpus, points(), size(), options);
  }
  std::shared_ptr<hmatrix::LeafDevice<Complex<double>>> on_gpu(int device, std::span<const i32> order) const override;

 private:
  Triangles triangles_;
  WaveIntegral integral_;
};

}  // namespace sordino::bem
