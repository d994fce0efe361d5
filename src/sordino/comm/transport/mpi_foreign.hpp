// A communicator that comes by way of another language's MPI, such as mpi4py's. Knows no mpi.h.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "sordino/comm/processes.hpp"

namespace sordino::mpi {

/// Where the other side keeps its handles, and what it says of its library. What a handle is differs between libraries of MPI.
struct ForeignComm {
  const void* handle = nullptr;  // an MPI_Comm
  std::size_t bytes = 0;         // of a handle
  const void* world = nullptr;   // its MPI_COMM_WORLD
  std::string library;           // what its MPI_Get_library_version says
  std::string speaker;           // whose it is, for the sentences: "mpi4py"
};

/// Its processes, over a duplicate of it, as processes(MPI_Comm). Throws, in this process alone, `unsupported` if the other
/// side's library is not the one that this process calls, or grants no MPI_THREAD_SERIALIZED, and bad_argument for
/// MPI_COMM_NULL and for an intercommunicator.
std::unique_ptr<Processes> processes(const ForeignComm& comm, double timeout, const std::string& call = "");

}  // namespace sordino::mpi
