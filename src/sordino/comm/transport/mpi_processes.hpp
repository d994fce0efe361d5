// MPI's own collectives, for measurements to compare with.
#pragma once
#include <memory>
#include <string>

#include "sordino/comm/processes.hpp"

namespace sordino::mpi {

/// The processes that a launcher started, over a duplicate of MPI_COMM_WORLD. Collective over them; null if there is only one.
/// No wait for the others takes longer than `timeout` seconds; 0: as long as it takes. `call`: as of Processes::enter.
std::unique_ptr<Processes> processes(double timeout, const std::string& call = "");

}  // namespace sordino::mpi
