// Trees of an H-matrix, made by a GPU: a level at a time, each of some kernels for all of its clusters, or blocks.
#pragma once
#include "sordino/hmatrix/trees.hpp"

namespace sordino::hmatrix {

/// The bits that make_trees has. Of points and options that were checked. Cost: 56 B read and written a point and level, a sort
/// of the blocks, and a message to the host for each level, for which it waits.
Trees trees_on_gpu(int device, const double* points, i64 n, const TreeOptions& options);

/// Makes the first call to a GPU, for which the driver takes its time.
void begin_gpu(int device);

}  // namespace sordino::hmatrix
