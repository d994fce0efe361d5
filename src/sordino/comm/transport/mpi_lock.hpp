// MPI_THREAD_SERIALIZED: one call at a time, from any thread, whichever communicator it is for.
#pragma once
#include <mutex>

namespace sordino::mpi {

inline std::mutex& the_lock() {
  static std::mutex lock;
  return lock;
}

}  // namespace sordino::mpi
