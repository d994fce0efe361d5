#include "sordino/bem/cuda/helmholtz.hpp"

#include "sordino/hmatrix/cuda/leaf_kernels.cuh"

namespace sordino::bem {
namespace {

/// Not inlined where crosses need entries: kernels that hold it once stay in the cache of instructions.
__device__ __noinline__ Complex<double> integral_of(const WaveIntegral& integral, const FlatTriangle& triangle,
                                                    const Point& x) {
  return integral(triangle, x);
}

struct HelmholtzEntries {
  using Value = Complex<double>;
  const FlatTriangle* triangles;
  const Point* centroids;
  const WaveIntegral* integral;
  double scale;

  __device__ Value entry(i32 i, i32 j) const { return integral_of(*integral, triangles[j], centroids[i]) * scale; }
};

class HelmholtzLeaves final : public hmatrix::LeafKernels<HelmholtzEntries> {
 public:
  HelmholtzLeaves(int device, const Triangles& t, std::span<const i32> order, const WaveIntegral& integral, double scale)
      : LeafKernels(device) {
    const cuda::OnDevice here(device);
    entries_ = {hmatrix::put_in_order(triangles_, t.all, order), hmatrix::put_in_order(centroids_, t.centroids, order),
                hmatrix::put<WaveIntegral>(integral_, {&integral, 1}), scale};
  }

 private:
  hmatrix::DeviceArrayOf<FlatTriangle> triangles_;
  hmatrix::DeviceArrayOf<Point> centroids_;
  hmatrix::DeviceArrayOf<WaveIntegral> integral_;
};

}  // namespace

std::shared_ptr<hmatrix::LeafDevice<Complex<double>>> helmholtz_on_gpu(int device, const Triangles& triangles,
                                                                       std::span<const i32> order, const WaveIntegral& integral,
                                                                       double scale) {
  return std::make_shared<HelmholtzLeaves>(device, triangles, order, integral, scale);
}

}  // namespace sordino::bem
