// Pointers of callers who may have passed what cannot be read.
#pragma once
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/engines.hpp"
#endif

namespace sordino {

/// Throws bad_argument for a null pointer and, in builds with CUDA, unsupported for one to memory of a GPU.
inline void require_host(const void* pointer, const char* what) {
  if (!pointer) bad_argument(std::string(what) + " is a null pointer");
#if SORDINO_WITH_CUDA
  if (cuda::on_device(pointer))
    throw Error(Errc::unsupported, std::string(what) + " points to memory of a GPU: copy it to the host first");
#endif
}

}  // namespace sordino
