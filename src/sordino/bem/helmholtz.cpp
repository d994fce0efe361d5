#include "sordino/bem/helmholtz.hpp"

#include <algorithm>
#include <numbers>

#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/bem/cuda/helmholtz.hpp"
#endif

namespace sordino::bem {
namespace {

constexpr double scale = 1 / (4 * std::numbers::pi);

double checked(double wavenumber) {
  if (!(wavenumber >= 0) || !std::isfinite(wavenumber)) bad_argument("wavenumber is a finite number, at least 0");
  return wavenumber;
}

double longest_edge(const Triangles& triangles) {
  double longest = 0;
  for (const FlatTriangle& t : triangles.all) longest = std::max({longest, t.side[0], t.side[1], t.side[2]});
  return longest;
}

}  // namespace

Helmholtz::Helmholtz(const SurfaceView& surface, double wavenumber)
    : triangles_(surface), integral_(checked(wavenumber), longest_edge(triangles_)) {}

void Helmholtz::entries(std::span<const i32> rows, std::span<const i32> columns, Complex<double>* out) const {
  for (i32 i : rows)
    for (i32 j : columns) *out++ = integral_(triangles_.all[std::size_t(j)], triangles_.centroids[std::size_t(i)]) * scale;
}

#if SORDINO_WITH_CUDA
std::shared_ptr<hmatrix::LeafDevice<Complex<double>>> Helmholtz::on_gpu(int device, std::span<const i32> order) const {
  return helmholtz_on_gpu(device, triangles_, order, integral_, scale);
}
#else
std::shared_ptr<hmatrix::LeafDevice<Complex<double>>> Helmholtz::on_gpu(int, std::span<const i32>) const { return nullptr; }
#endif

}  // namespace sordino::bem
