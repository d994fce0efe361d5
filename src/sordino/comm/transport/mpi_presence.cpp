// Whether MPI is here. A module made for many machines names no MPI that the loader must find: its symbols of MPI are weak, and
// null unless a library that has them was loaded before.
#include <mpi.h>

#include "sordino/comm/transport/mpi.hpp"
#if defined(OPEN_MPI)
#include <dlfcn.h>

#pragma weak MPI_Init_thread
#pragma weak ompi_mpi_comm_world
#endif

namespace sordino::mpi {
namespace {

bool is_present() {
#if defined(OPEN_MPI)
  // Functions and data of two MPIs, one loaded by somebody else, would not go together.
  Dl_info functions{}, data{};
  return dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &functions) && dladdr(&ompi_mpi_comm_world, &data) &&
         functions.dli_fbase == data.dli_fbase;
#else
  return true;
#endif
}

}  // namespace

std::string absence() {
  if (is_present()) return "";
  return "MPI is used where Open MPI's libmpi.so.40 is found, and there is none: pip install 'sordino[mpi]', or name the "
         "library in SORDINO_LIBMPI";
}

}  // namespace sordino::mpi
