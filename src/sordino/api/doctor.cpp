#include "sordino/api/doctor.hpp"

#include "sordino/config.hpp"
#if SORDINO_WITH_MPI
#include "sordino/comm/transport/mpi.hpp"
#endif
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/engines.hpp"
#endif

namespace sordino {

BuildInfo build_info() {
  BuildInfo b;
  b.version = SORDINO_VERSION;
#if defined(__clang__)
  b.compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
  b.compiler = "g++ " __VERSION__;
#endif
#if SORDINO_WITH_MPI
  b.mpi = true;
  b.mpi_library = mpi::library();
#endif
#if SORDINO_WITH_CUDA
  b.cuda = true;
  b.cuda_version = cuda::toolkit_version();
  b.cuda_architectures = cuda::architectures();
#endif
  return b;
}

DeviceReport device_report() {
#if SORDINO_WITH_CUDA
  return cuda::report();
#else
  return {{}, {}, {}, "this build has no cuda engine"};
#endif
}

MpiReport mpi_report() {
#if SORDINO_WITH_MPI
  if (std::string why = mpi::absence(); !why.empty()) return {false, 0, 1, why, false};
  mpi::World w = mpi::world();
  MpiReport r{w.initialized, w.process, w.processes, w.reason, {}, w.threads, w.serialized};
  if (mpi::Answer answer = mpi::reaches_devices(); answer != mpi::Answer::not_known) r.gpu_aware = answer == mpi::Answer::yes;
  return r;
#else
  return {false, 0, 1, "this build has no MPI", false};
#endif
}

}  // namespace sordino
