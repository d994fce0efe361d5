// Laplace's entries on a GPU. Knows no CUDA itself.
#pragma once
#include "sordino/bem/surface.hpp"
#include "sordino/hmatrix/leaf_device.hpp"

namespace sordino::bem {

/// Triangles in `order`; what `scale` is, bem/laplace.cpp says. Memory of the device: 200 B a triangle.
std::shared_ptr<hmatrix::LeafDevice<double>> laplace_on_gpu(int device, const Triangles& triangles, std::span<const i32> order,
                                                            double scale);

}  // namespace sordino::bem
