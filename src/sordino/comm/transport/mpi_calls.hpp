// Who may call MPI when. Where it grants MPI_THREAD_MULTIPLE threads call it as they come; with MPI_THREAD_SERIALIZED one at a
// time, whichever communicator it is for.
#pragma once
#include <mutex>
#include <string>

namespace sordino::mpi {

/// The level of thread support that MPI, which must have been initialised, grants: "MPI_THREAD_MULTIPLE".
std::string granted_threads();

/// Whether calls are made one at a time: where MPI grants no MPI_THREAD_MULTIPLE, or SORDINO_MPI_CALLS is `serialized`. Decided
/// once. Throws bad_argument if that variable says something else.
bool calls_are_serialized();

/// Stands around every call of MPI; where there are turns nobody waits for another lock that is held there. The first one comes
/// after MPI_Init.
class Calling {
 public:
  Calling();                                 // waits for its turn
  explicit Calling(std::try_to_lock_t now);  // does not
  explicit operator bool() const { return free_ || turn_.owns_lock(); }

 private:
  bool free_;  // there are no turns
  std::unique_lock<std::mutex> turn_;
};

}  // namespace sordino::mpi
