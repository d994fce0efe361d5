// Which GPU makes what is set up for an engine.
#pragma once
#include "sordino/runtime/engine.hpp"

namespace sordino::cuda {

/// CUDA's number of the first local rank's GPU; -1: ranks of this engine have none.
int gpu_of(const Engine& engine);

}  // namespace sordino::cuda
