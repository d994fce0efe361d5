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

#if defined(OPEN_MPI)
bool look() {
  if (!&MPI_Init_thread || !&ompi_mpi_comm_world) return false;
  // The functions of another MPI, which somebody has loaded before, do not go with the data of this one.
  Dl_info functions{};
  if (!dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &functions)) return true;
  void* library = dlopen(functions.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return true;  // they are the program's own
  bool has_data = dlsym(library, "ompi_mpi_comm_world") != nullptr;
  dlclose(library);
  return has_data;
}
#else
bool look() { return true; }
#endif

}  // namespace

std::string absence() {
  static const bool present = look();
  if (present) return "";
  return "MPI is used where Open MPI's libmpi.so.40 is found, and there is none: pip install 'sordino[mpi]', or name the "
         "library in SORDINO_LIBMPI";
}

}  // namespace sordino::mpi
