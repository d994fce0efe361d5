// How a communicator is freed that several processes stop using at different times.
#pragma once
#include <mpi.h>

#include <list>
#include <vector>

namespace sordino::mpi {

struct Sending {
  std::vector<std::byte> buffer;
  MPI_Request request = MPI_REQUEST_NULL;
};

inline constexpr int message_tag = 7, farewell_tag = 8, placed_tag = 9, here_tag = 10;

/// Takes over a communicator of ours that this process uses no more, with what it has sent there and MPI has not yet taken.
/// Each process says farewell there; when all have, and everything before has come and was dropped, it is freed. A number that
/// MPI gives to a later communicator can then not bring it an old message. Nobody waits for that: it is looked for whenever a
/// transport comes or goes, and where a process has died it never happens. Called within a Calling.
void depart(MPI_Comm comm, std::list<Sending> sending);

/// Frees what can be freed. Returns how many communicators wait for other processes.
int free_departed();

}  // namespace sordino::mpi
