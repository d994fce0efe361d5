// The part of the C ABI that knows MPI.
#include <mpi.h>

#include "sordino/api/c_abi.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"

using namespace sordino;
using namespace sordino::c_abi;

extern "C" {

int sordino_create_mpi(MPI_Comm comm, const sordino_rows* rows, const char* options, sordino_solver** solver) {
  return guarded([&] {
    if (solver) *solver = nullptr;
    mpi::need_threads();
    if (comm == MPI_COMM_NULL) bad_argument("the communicator is MPI_COMM_NULL");
    Options defaults;
    defaults.ranks = 1;  // also of one process
    Accord accord(mpi::processes(comm, timeout_of(options), "sordino_create_mpi"));
    return create(std::move(accord), rows, options, solver, defaults);
  });
}

int sordino_create_mpi_fortran(int comm, const sordino_rows* rows, const char* options, sordino_solver** solver) {
  return guarded([&] {
    if (solver) *solver = nullptr;
    mpi::need_threads();
    return sordino_create_mpi(MPI_Comm_f2c(MPI_Fint(comm)), rows, options, solver);
  });
}

}  // extern "C"
