#include "sordino/comm/transport/mpi_processes.hpp"

#include <mpi.h>

#include <string>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/comm/transport/mpi_calls.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/comm/transport/mpi_departure.hpp"

namespace sordino::mpi {
namespace {

int int_of(i64 count) {
  if (count < 0 || count > 0x7fffffff) bad_argument("MPI takes at most 2^31 - 1 values here, not " + std::to_string(count));
  return int(count);
}

/// Every call is split-phase and asked for again and again: so waits can end, and other threads may call MPI meanwhile.
class MpiProcesses final : public Processes {
 public:
  MpiProcesses(MPI_Comm of, double timeout) : timeout_(timeout) {
    Calling now;
    MPI_Comm_dup(of, &comm_);
    MPI_Comm_rank(comm_, &index_);
    MPI_Comm_size(comm_, &count_);
  }
  ~MpiProcesses() override {
    Calling now;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) depart(comm_, {});
  }

  int count() const override { return count_; }
  int index() const override { return index_; }
  bool reaches_devices() const override { return mpi::reaches_devices() == Answer::yes; }

  void barrier() override {
    finish("a barrier", [&](MPI_Request* r) { MPI_Ibarrier(comm_, r); });
  }
  void add(double* values, i64 count) override {
    int n = int_of(count);
    finish("a sum", [&](MPI_Request* r) { MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_SUM, comm_, r); });
  }
  void gather(double* whole, i64 part) override {
    int n = int_of(part);
    finish("gathered pieces",
           [&](MPI_Request* r) { MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole, n, MPI_DOUBLE, comm_, r); });
  }
  void most(std::vector<double>& values) override {
    int n = int_of(i64(values.size()));
    finish("the largest",
           [&](MPI_Request* r) { MPI_Iallreduce(MPI_IN_PLACE, values.data(), n, MPI_DOUBLE, MPI_MAX, comm_, r); });
  }

  std::unique_ptr<Hall> hall(int ranks, bool apart) override { return mpi::hall(comm_, ranks, apart ? index() : -1); }
  std::unique_ptr<Transport> transport(int ranks) override { return mpi::transport(comm_, ranks); }

 private:
  template <class Start>
  void finish(const char* what, const Start& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    double begin = seconds_now();
    {
      Calling now;
      start(&request);
    }
    while (!ended(&request)) {
      if (timeout_ > 0 && seconds_now() - begin > timeout_)
        throw Error(Errc::peer_failed, "process " + std::to_string(index()) + " waited " + std::to_string(int(timeout_)) +
                                           " s for " + what + " of all processes: one of them has failed or is stuck");
      std::this_thread::yield();
    }
  }
  static bool ended(MPI_Request* request) {
    Calling now;
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  double timeout_;
  int index_ = 0, count_ = 1;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

std::unique_ptr<Processes> processes(double timeout) {
  return world().processes == 1 ? nullptr : processes(MPI_COMM_WORLD, timeout);
}

std::unique_ptr<Processes> processes(MPI_Comm comm, double timeout) {
  need_threads();
  int count = 0;
  MPI_Comm_size(comm, &count);
  return count == 1 ? nullptr : std::make_unique<MpiProcesses>(comm, timeout);
}

}  // namespace sordino::mpi
