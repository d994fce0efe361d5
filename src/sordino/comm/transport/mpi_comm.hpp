// For applications that have an MPI communicator of their own: the ranks of its processes, and of no others.
#pragma once
#include <mpi.h>

#include <memory>
#include <string>

#include "sordino/comm/processes.hpp"
#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino::mpi {

/// A transport for `local_ranks` ranks of this process, over a duplicate of the caller's communicator, so that messages of the
/// two never meet. Collective over `comm`. Null if it has one process. Throws `unsupported` if MPI grants no
/// MPI_THREAD_SERIALIZED. MPI is neither initialised nor finalised. While an engine of ours runs, the caller makes no MPI calls
/// of his own, unless MPI grants MPI_THREAD_MULTIPLE.
std::unique_ptr<Transport> transport(MPI_Comm comm, int local_ranks);

/// The hall of its processes, for an engine whose ranks share memory where they can: cuda::CudaEngine(options, mpi::hall(comm,
/// ranks), mpi::transport(comm, ranks)); without the transport all of them must be on one host and reach each other's GPUs, as
/// those of a team always: cuda::Team(options, mpi::hall(comm, ranks)). Over several hosts
/// each has a hall. `host` >= 0: the host this process counts as being on, whatever MPI says. Collective over `comm`. Null if
/// it has one process.
std::unique_ptr<Hall> hall(MPI_Comm comm, int local_ranks, int host = -1);

/// Its processes, over a duplicate of it. Collective over `comm`; null if it has one process. Throws as transport() does. No
/// wait for the others takes longer than `timeout` seconds, the first one, on `comm` itself, among them; 0: as long as it
/// takes. Where that one is given up it stays under way, and `comm` is of no use for collectives any more. `call`: as of
/// Processes::enter.
std::unique_ptr<Processes> processes(MPI_Comm comm, double timeout, const std::string& call = "");

/// Throws `unsupported` unless MPI has been initialised with MPI_THREAD_SERIALIZED at least, and not finalised.
void need_threads();

}  // namespace sordino::mpi
