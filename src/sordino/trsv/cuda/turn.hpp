// Triangular solves on GPUs of one process take turns.
#pragma once
#include <mutex>

namespace sordino::trsv {

/// To be held while kernels run that wait for other GPUs: they must be there together, and those of two solves could each keep
/// the other's from a GPU.
inline std::mutex& turn_of_solves() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace sordino::trsv
