#include "sordino/runtime/cuda/pointers.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <atomic>

#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {
namespace {

using GetAttributes = CUresult(unsigned, CUpointer_attribute*, void**, CUdeviceptr);

// The runtime's own question would make a context on the current device, for a process that only has host memory to show.
GetAttributes* driver() {
  static std::atomic<GetAttributes*> found{nullptr};
  if (GetAttributes* known = found) return known;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  found = reinterpret_cast<GetAttributes*>(dlsym(library, "cuPointerGetAttributes"));
  dlclose(library);  // whoever has loaded it keeps it
  return found;
}

}  // namespace

Place place_of(const void* pointer) {
  GetAttributes* ask = driver();
  if (!ask || !pointer) return {};
  unsigned type = 0, managed = 0;
  int device = -1;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* answers[] = {&type, &managed, &device};
  if (ask(3, wanted, answers, reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS) return {};  // before any use of CUDA
  if (managed) return {Memory::managed, device};
  return type == CU_MEMORYTYPE_DEVICE ? Place{Memory::device, device} : Place{};
}

void start_copying(void* to, const void* from, std::size_t bytes, void* stream) {
  Place target = place_of(to), source = place_of(from);
  bool between = target.memory == Memory::device && source.memory == Memory::device && target.device != source.device;
  auto in = static_cast<cudaStream_t>(stream);
  if (between)
    call("cudaMemcpyPeerAsync", cudaMemcpyPeerAsync(to, target.device, from, source.device, bytes, in));
  else
    call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, in));
}

}  // namespace sordino::cuda
