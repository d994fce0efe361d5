// Levels of a grid's matrix that a GPU makes.
#pragma once
#include "sordino/precond/grid_maker.hpp"

namespace sordino {

/// On the GPU with this CUDA number, with the host's bits. Arrays that lie in its memory are read there, others are copied.
/// Memory there while levels are made: 8 B a row of the first level, and 16 B a row of each level and 40 B of each below it.
/// Throws `unsupported` where it has less, `device` for a GPU that fails, or does not answer for a minute. Cost: three kernels
/// a level, each of one pass over its arrays.
std::unique_ptr<GridMaker> device_grid_maker(int device);

}  // namespace sordino
