#include "sordino/precond/level_maker.hpp"

#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/precond/cuda/device_levels.hpp"
#endif

namespace sordino {

std::unique_ptr<LevelMaker> levels_by([[maybe_unused]] int gpu) {
#if SORDINO_WITH_CUDA
  if (gpu >= 0) return device_levels(gpu);
#endif
  return nullptr;
}

}  // namespace sordino
