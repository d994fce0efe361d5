// Messages between processes over a communicator of ours.
#pragma once
#include <mpi.h>

#include <memory>
#include <vector>

#include "sordino/runtime/transport.hpp"

namespace sordino::mpi {

/// Takes the communicator over, and departs from it in the end. `ranks`: of every process. `reaches_devices`: MPI takes memory
/// of GPUs, in all processes.
std::unique_ptr<Transport> make_transport(int process, std::vector<int> ranks, bool reaches_devices, MPI_Comm comm);

}  // namespace sordino::mpi
