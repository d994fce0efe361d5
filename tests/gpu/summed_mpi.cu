// Recorded sums of GPUs of several processes by the host's ways, MPI_Iallreduce among them, whatever else is between them.
#include "check.hpp"
#include "conformance/mpi_world.hpp"
#include "sordino/comm/recorded_sums.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/engine.hpp"
#include "unit/comm/counting.hpp"

using namespace sordino;
using namespace mpi_world;

TEST("summed: over processes whole numbers add up to the same by every way") {
  int gpus = int(cuda::device_report().devices.size());
  if (gpus < processes()) SKIP(processes(), " processes need as many GPUs, and here are ", gpus);
  cuda::enable(counting::Kernels{});
  for (int host : {-1, process()})
    for (Algorithm way : {Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level, Algorithm::mpi})
      for (int ranks = 1; ranks * processes() <= gpus; ranks *= 2) {
        NOTE(name(way), ", ", processes(), " processes of ", ranks, host < 0 ? ", one host" : ", several hosts");
        cuda::Options o;
        o.sums = cuda::Sums::by_host;
        o.timeout = 20;
        cuda::CudaEngine engine(o, mpi::hall(MPI_COMM_WORLD, ranks, host), mpi::transport(MPI_COMM_WORLD, ranks));
        CHECK(sum_by(engine, {.algorithm = way}).algorithm == way);
        CHECK(engine.node_of(engine.first_rank()).size() == ranks);
        counting::count(engine, 3000, 25);
      }
}
