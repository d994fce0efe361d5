#include "sordino/comm/transport/mpi_foreign.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>

#include "sordino/base/error.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"

namespace sordino::mpi {
namespace {

/// The file that MPI is called in here.
std::string place_of_ours() {
  Dl_info info{};
  bool known = dladdr(reinterpret_cast<void*>(&MPI_Comm_dup), &info) != 0 && info.dli_fname;
  return known ? info.dli_fname : "a place not known";
}

/// MPI_Get_library_version in one line.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string our_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return one_line(std::string(text, std::size_t(length)));
}

/// Two copies of one library have the same version and, in MPICH, the same handles: but only one of them has been initialised.
void need_the_same_library(const ForeignComm& comm) {
  const std::string ours = our_version(), theirs = one_line(comm.library);
  const std::string advice = ", which is " + place_of_ours() + ": build or install one of them with the other's MPI";
  if (ours != theirs)
    throw Error(Errc::unsupported, comm.speaker + " uses another MPI library (" + theirs.substr(0, theirs.find(',')) +
                                       ") than Sordino (" + ours.substr(0, ours.find(',')) + ")" + advice);
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  MPI_Comm world = MPI_COMM_WORLD;
  if (comm.bytes != sizeof world || std::memcmp(comm.world, &world, sizeof world) != 0 || (!initialized && !finalized))
    throw Error(Errc::unsupported, comm.speaker + " uses another copy of the MPI library than Sordino" + advice);
}

}  // namespace

std::unique_ptr<Processes> processes(const ForeignComm& foreign, double timeout, const std::string& call) {
  need_the_same_library(foreign);
  need_threads();
  MPI_Comm comm;
  std::memcpy(&comm, foreign.handle, sizeof comm);
  if (comm == MPI_COMM_NULL) bad_argument("the communicator is MPI_COMM_NULL");
  int between_two_groups = 0;
  MPI_Comm_test_inter(comm, &between_two_groups);
  if (between_two_groups) bad_argument("the communicator is an intercommunicator, and one of a single group is needed");
  return processes(comm, timeout, call);
}

}  // namespace sordino::mpi
