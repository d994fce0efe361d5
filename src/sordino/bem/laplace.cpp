#include "sordino/bem/laplace.hpp"

#include <numbers>

#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/bem/cuda/laplace.hpp"
#endif

namespace sordino::bem {
namespace {

constexpr double scale = 1 / (4 * std::numbers::pi * vacuum_permittivity);

}  // namespace

void Laplace::entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const {
  for (i32 i : rows)
    for (i32 j : columns) *out++ = scale * triangles_.all[std::size_t(j)].potential(triangles_.centroids[std::size_t(i)]);
}

#if SORDINO_WITH_CUDA
std::shared_ptr<hmatrix::LeafDevice<double>> Laplace::on_gpu(int device, std::span<const i32> order) const {
  return laplace_on_gpu(device, triangles_, order, scale);
}
#else
std::shared_ptr<hmatrix::LeafDevice<double>> Laplace::on_gpu(int, std::span<const i32>) const { return nullptr; }
#endif

}  // namespace sordino::bem
