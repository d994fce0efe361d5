#include <cuda_runtime_api.h>

#include "sordino/api/cuda/engines.hpp"

namespace sordino::cuda {

bool on_device(const void* pointer) {
  cudaPointerAttributes a{};
  if (cudaPointerGetAttributes(&a, pointer) != cudaSuccess) {  // no driver, no GPU: then there is no such memory either
    cudaGetLastError();
    return false;
  }
  return a.type == cudaMemoryTypeDevice;
}

}  // namespace sordino::cuda
