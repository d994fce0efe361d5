// Whether MPI takes pointers to memory of GPUs. No standard says how to ask: each family of libraries has a way of its own.
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "sordino/comm/transport/mpi.hpp"

namespace sordino::mpi {

Answer reaches_devices() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && !MPIX_CUDA_AWARE_SUPPORT
  return Answer::no;  // it was built so
#elif defined(MPIX_CUDA_AWARE_SUPPORT) || defined(MPIX_GPU_SUPPORT_CUDA)
  if (!world().initialized) return Answer::not_known;
  int yes = 0;
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  yes = MPIX_Query_cuda_support();
#else
  MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &yes);
#endif
  return yes ? Answer::yes : Answer::no;
#else
  return Answer::no;  // it does not say so
#endif
}

}  // namespace sordino::mpi
