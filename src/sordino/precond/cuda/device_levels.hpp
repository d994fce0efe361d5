// Levels of algebraic multigrid that a GPU makes.
#pragma once
#include "sordino/precond/level_maker.hpp"

namespace sordino {

/// On the GPU with this CUDA number, with the bits of host_levels(). The first matrix is uploaded, those below stay where they
/// are made. Memory of the GPU, while levels are made: some 60 B an entry and 100 B a row of the largest level, beyond its
/// matrix. Throws `unsupported` where it has less, where a level has 2^31 entries, or where an entry and its mirror differ so
/// that one is a strong coupling and the other is not; `device` for a GPU that fails, or does not answer for a minute. Cost:
/// for each level a sort of its entries by values and one by aggregates, and four messages to the host.
std::unique_ptr<LevelMaker> device_levels(int device);

}  // namespace sordino
