// Helmholtz' entries on a GPU. Knows no CUDA itself.
#pragma once
#include "sordino/bem/surface.hpp"
#include "sordino/bem/wave_integral.hpp"
#include "sordino/hmatrix/leaf_device.hpp"

namespace sordino::bem {

/// Triangles in `order`; entries are `scale` times the integral. Memory of the device: 200 B a triangle.
std::shared_ptr<hmatrix::LeafDevice<Complex<double>>> helmholtz_on_gpu(int device, const Triangles& triangles,
                                                                       std::span<const i32> order, const WaveIntegral& integral,
                                                                       double scale);

}  // namespace sordino::bem
