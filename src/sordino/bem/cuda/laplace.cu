#include "sordino/bem/cuda/laplace.hpp"

#include "sordino/hmatrix/cuda/leaf_kernels.cuh"

namespace sordino::bem {
namespace {

/// Not inlined where crosses need entries: kernels that hold it once stay in the cache of instructions.
__device__ __noinline__ double potential(const FlatTriangle& triangle, const Point& x) { return triangle.potential(x); }

struct LaplaceEntries {
  using Value = double;
  const FlatTriangle* triangles;
  const Point* centroids;
  double scale;

  __device__ double entry(i32 i, i32 j) const { return scale * potential(triangles[j], centroids[i]); }
};

class LaplaceLeaves final : public hmatrix::LeafKernels<LaplaceEntries> {
 public:
  LaplaceLeaves(int device, const Triangles& t, std::span<const i32> order, double scale) : LeafKernels(device) {
    const cuda::OnDevice here(device);
    entries_ = {hmatrix::put_in_order(triangles_, t.all, order), hmatrix::put_in_order(centroids_, t.centroids, order), scale};
  }

 private:
  hmatrix::DeviceArrayOf<FlatTriangle> triangles_;
  hmatrix::DeviceArrayOf<Point> centroids_;
};

}  // namespace

std::shared_ptr<hmatrix::LeafDevice<double>> laplace_on_gpu(int device, const Triangles& triangles, std::span<const i32> order,
                                                            double scale) {
  return std::make_shared<LaplaceLeaves>(device, triangles, order, scale);
}

}  // namespace sordino::bem
