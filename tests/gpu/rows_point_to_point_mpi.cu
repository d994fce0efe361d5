// Rows of vectors between GPUs of several processes, outside of recordings: staged through pinned memory, beside those of one
// process, which go straight.
#include "check.hpp"
#include "conformance/mpi_world.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/engine.hpp"
#include "unit/comm/row_messages.hpp"

using namespace sordino;
using namespace mpi_world;

namespace {

/// On one host, which maps memory; through MPI; on hosts of their own.
template <class Job>
void between_processes(const Job& job) {
  const int gpus = int(cuda::device_report().devices.size());
  if (gpus < processes()) SKIP(processes(), " processes need as many GPUs, and here are ", gpus);
  cuda::enable(row_messages::Kernels{});
  for (int ranks = 1; ranks * processes() <= gpus; ranks *= 2)
    for (bool hosts : {false, true})
      for (auto links : {cuda::Links::automatic, cuda::Links::host}) {
        NOTE(processes(), " processes of ", ranks, hosts ? ", on hosts of their own" : "",
             links == cuda::Links::host ? ", through host memory" : "");
        cuda::Options o;
        o.timeout = 20;
        o.links = links;
        cuda::CudaEngine engine(o, mpi::hall(MPI_COMM_WORLD, ranks, hosts ? process() : -1),
                                mpi::transport(MPI_COMM_WORLD, ranks));
        job(engine, ranks, hosts);
      }
}

}  // namespace

TEST("rows between processes: arrive where they belong, in the order of their channel, beside replays and host data") {
  between_processes([](cuda::CudaEngine& engine, int ranks, bool hosts) {
    int me = engine.first_rank(), far = (me + ranks) % engine.size();
    CHECK(engine.row_port().carrier(me, far) == (hosts ? Carrier::mpi : Carrier::host_memory));
    row_messages::all(engine);
  });
}

TEST("rows between processes: another number of rows than expected is one sentence in all of them") {
  between_processes([](cuda::CudaEngine& engine, int, bool) {
    std::string cause = "no failure";
    try {
      engine.run(
          [](Rank& s) {
            row_messages::Ring ring(s);
            Communicator c(s, 20);
            auto coming = c.start_receive(ring.before, {ring.b, 0, s.id() == 0 ? 4 : 5});
            c.send(ring.next, {ring.a, 0, 5});
            coming.get();
            c.barrier();
          },
          {});
    } catch (const Error& e) {
      cause = e.what();
    }
    NOTE("process ", process(), " says: ", cause);
    CHECK(cause == of_the_last(cause));
    CHECK(cause.find("rank 0 receives 4 rows into 'b' (channel 20)") != std::string::npos);
  });
}
