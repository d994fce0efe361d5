// For applications that have an MPI communicator of their own: the ranks of its processes, and of no others.
#pragma once
#include <mpi.h>

#include <memory>

#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino::mpi {

/// A transport for `local_ranks` ranks of this process, over a duplicate of the caller's communicator, so that messages of the
/// two never meet. Collective over `comm`. Null if it has one process. Throws `unsupported` if MPI grants no
/// MPI_THREAD_SERIALIZED. MPI is neither initialised nor finalised. While an engine of ours runs, the caller makes no MPI calls
/// of his own, unless MPI grants MPI_THREAD_MULTIPLE.
std::unique_ptr<Transport> transport(MPI_Comm comm, int local_ranks);

/// The hall of its processes, for an engine of ranks that share memory: cuda::CudaEngine(options, mpi::hall(comm, ranks)).
/// Collective over `comm`, and the last that it hears of us. Null if it has one process. Throws `unsupported`, in all
/// processes, if they are not all on one host.
std::unique_ptr<Hall> hall(MPI_Comm comm, int local_ranks);

}  // namespace sordino::mpi
