// Ranks of other processes over MPI: a transport for engines that send messages, and the way into a hall for those that share
// memory. Data of the first is staged through host memory, or given to MPI where it lies on GPUs, if MPI takes it from there.
// MPI is asked for MPI_THREAD_MULTIPLE, so that callers may go on with their own, and ranks send while another one receives.
// One at a time looks for messages, whichever happens to wait. Where MPI grants less, or SORDINO_MPI_CALLS=serialized, all
// calls from here are made one at a time.
#pragma once
#include <memory>
#include <string>

#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino::mpi {

struct World {
  bool initialized = false;
  int process = 0, processes = 1;
  std::string reason;       // why there is only one process
  std::string threads;      // what MPI grants, once it is initialised: "MPI_THREAD_MULTIPLE"
  bool serialized = false;  // calls from here are made one at a time
};

/// What MPI says. Initialises it only if this process was started by an MPI launcher and nobody has done so; what was
/// initialised here is finalised when the process ends, what the caller initialised never is. Where MPI is absent there is
/// one process; throws `unsupported` if a launcher has started several.
World world();

/// The MPI library that is used; needs no initialisation. "" where there is none.
std::string library();

/// "" where MPI is in this process, else what would bring it. It is wherever Sordino was linked with it; a module for many
/// machines (SORDINO_PORTABLE) takes the Open MPI that was loaded before it, or does without.
std::string absence();

enum class Answer { no, yes, not_known };
/// Whether the library moves memory of GPUs itself (it is "GPU-aware"). Some say so only once MPI has been initialised, which
/// happens here as in world().
Answer reaches_devices();

/// A transport for `local_ranks` ranks of this process. Collective over all processes (it duplicates the communicator and
/// gathers the numbers of ranks). Null if there is only one process.
std::unique_ptr<Transport> transport(int local_ranks);

/// The hall of all processes, for an engine whose ranks share memory where they can. Over several hosts each has one, with
/// seats for all ranks. `host` >= 0 says which host this process counts as being on, whatever MPI says. Collective over all
/// processes, and throws in all of them if one cannot. Null if there is only one process.
std::unique_ptr<Hall> hall(int local_ranks, int host = -1);

}  // namespace sordino::mpi
