#include "sordino/api/cuda/gpu_of.hpp"

#include "sordino/runtime/cuda/engine.hpp"

namespace sordino::cuda {

int gpu_of(const Engine& engine) {
  const auto* found = dynamic_cast<const CudaEngine*>(&engine);
  return found ? found->gpu() : -1;
}

}  // namespace sordino::cuda
