// Which GPUs make what is set up for an engine.
#pragma once
#include <vector>

#include "sordino/runtime/engine.hpp"

namespace sordino::cuda {

/// CUDA's numbers of the ranks' GPUs, of several processes of the first local one's alone; {-1}: ranks of this engine have
/// none.
std::vector<int> gpus_of(Engine& engine);

}  // namespace sordino::cuda
