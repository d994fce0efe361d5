#include "sordino/comm/transport/mpi_calls.hpp"

#include <mpi.h>

#include <cstdlib>

#include "sordino/base/error.hpp"

namespace sordino::mpi {
namespace {

std::mutex& the_turn() {
  static std::mutex turn;
  return turn;
}

bool decide() {
  const char* wanted = std::getenv("SORDINO_MPI_CALLS");
  if (wanted && std::string(wanted) != "serialized")
    bad_argument(std::string("SORDINO_MPI_CALLS is '") + wanted + "': it may be 'serialized', or is not set");
  int granted = MPI_THREAD_SINGLE;
  MPI_Query_thread(&granted);
  return wanted || granted < MPI_THREAD_MULTIPLE;
}

}  // namespace

std::string granted_threads() {
  int granted = MPI_THREAD_SINGLE;
  MPI_Query_thread(&granted);
  switch (granted) {
    case MPI_THREAD_MULTIPLE: return "MPI_THREAD_MULTIPLE";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    default: return "MPI_THREAD_SINGLE";
  }
}

bool calls_are_serialized() {
  static const bool decided = decide();
  return decided;
}

Calling::Calling() : free_(!calls_are_serialized()) {
  if (!free_) turn_ = std::unique_lock(the_turn());
}

Calling::Calling(std::try_to_lock_t now) : free_(!calls_are_serialized()) {
  if (!free_) turn_ = std::unique_lock(the_turn(), now);
}

}  // namespace sordino::mpi
