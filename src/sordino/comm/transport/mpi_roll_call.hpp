// Who has not come, where a wait for all processes of a communicator of ours takes too long.
#pragma once
#include <mpi.h>

#include <list>
#include <string>

#include "sordino/base/types.hpp"
#include "sordino/comm/transport/mpi_departure.hpp"

namespace sordino::mpi {

/// Waits have the same numbers in all processes. Those who have waited for a while say so to all others, in a message of 8
/// bytes that nobody waits for; who has not said so by the end of the wait is absent. Its calls are made within a Calling.
class RollCall {
 public:
  void say_here(MPI_Comm comm, i64 wait);
  /// "process 1", "processes 1 and 3"; "the other processes" if all have said that they were here. Not collective.
  std::string absent(MPI_Comm comm, i64 wait);
  /// What MPI may not have taken yet, for depart().
  std::list<Sending> leave() { return std::move(sending_); }

 private:
  std::list<Sending> sending_;
};

}  // namespace sordino::mpi
