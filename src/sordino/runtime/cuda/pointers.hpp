// Where a pointer of a caller's points to. Knows no CUDA itself.
#pragma once
#include <cstddef>

namespace sordino::cuda {

enum class Memory {
  host,     // the host reads it: pinned for CUDA or not
  device,   // of one GPU
  managed,  // its pages move by themselves
};

struct Place {
  Memory memory = Memory::host;
  int device = -1;  // where memory is a GPU's
};

/// Asks the driver, and makes no context on any GPU: in a process that has not used CUDA all is the host's. Needs no current
/// device. Cost: about a microsecond.
Place place_of(const void* pointer);

/// Starts to copy between any two of host and GPUs, whether the GPUs reach each other or not. `stream` is a cudaStream_t of one
/// of them, which is current.
void start_copying(void* to, const void* from, std::size_t bytes, void* stream);

}  // namespace sordino::cuda
