#include "sordino/comm/transport/mpi_processes.hpp"

#include <mpi.h>

#include <cstdio>
#include <string>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/comm/transport/mpi_calls.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/comm/transport/mpi_departure.hpp"
#include "sordino/comm/transport/mpi_roll_call.hpp"

namespace sordino::mpi {
namespace {

int int_of(i64 count) {
  if (count < 0 || count > 0x7fffffff) bad_argument("MPI takes at most 2^31 - 1 values here, not " + std::to_string(count));
  return int(count);
}

std::string in_seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

/// Every call is split-phase and asked for again and again: so waits can end, and other threads may call MPI meanwhile. What
/// has no split-phase form, in halls and transports, stands behind a barrier: a wait there is for a process that dies at that
/// moment.
class MpiProcesses final : public Processes {
 public:
  MpiProcesses(MPI_Comm of, double timeout, std::string call) : timeout_(timeout) {
    {
      Calling now;
      MPI_Comm_rank(of, &index_);
      MPI_Comm_size(of, &count_);
    }
    enter(std::move(call));
    auto copy = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
    try {
      // First, because a barrier that is given up is in nobody's way: a duplicate may bar those of other communicators.
      finish([&](MPI_Request* r) { MPI_Ibarrier(of, r); });
      finish([&](MPI_Request* r) { MPI_Comm_idup(of, copy.get(), r); });
    } catch (...) {
      (void)copy.release();  // MPI writes there if the others come after all
      throw;
    }
    comm_ = *copy;
  }
  ~MpiProcesses() override {
    Calling now;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) depart(comm_, roll_call_.leave());
  }

  int count() const override { return count_; }
  int index() const override { return index_; }
  bool reaches_devices() const override { return mpi::reaches_devices() == Answer::yes; }

  void barrier() override {
    finish([&](MPI_Request* r) { MPI_Ibarrier(comm_, r); });
  }
  void add(double* values, i64 count) override {
    int n = int_of(count);
    finish([&](MPI_Request* r) { MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_SUM, comm_, r); });
  }
  void gather(double* whole, i64 part) override {
    int n = int_of(part);
    finish([&](MPI_Request* r) { MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole, n, MPI_DOUBLE, comm_, r); });
  }
  void most(std::vector<double>& values) override {
    int n = int_of(i64(values.size()));
    finish([&](MPI_Request* r) { MPI_Iallreduce(MPI_IN_PLACE, values.data(), n, MPI_DOUBLE, MPI_MAX, comm_, r); });
  }

  std::unique_ptr<Hall> hall(int ranks, bool apart) override {
    barrier();
    return mpi::hall(comm_, ranks, apart ? index() : -1);
  }
  std::unique_ptr<Transport> transport(int ranks) override {
    barrier();
    return mpi::transport(comm_, ranks);
  }

 private:
  /// Part of the timeout after which who waits says so, for the others to know at its end.
  static constexpr double quiet = 0.1;

  template <class Start>
  void finish(const Start& start) {
    MPI_Request request = MPI_REQUEST_NULL;  // left to MPI where a wait is given up
    const double begin = seconds_now();
    bool said_here = comm_ == MPI_COMM_NULL;  // no way to say it yet
    waits_++;
    {
      Calling now;
      start(&request);
    }
    while (!ended(&request)) {
      std::this_thread::yield();
      if (timeout_ <= 0) continue;
      const double waited = seconds_now() - begin;
      if (waited > timeout_) give_up();
      if (said_here || waited <= quiet * timeout_) continue;
      said_here = true;
      Calling now;
      roll_call_.say_here(comm_, waits_);
    }
    joined();
  }
  [[noreturn]] void give_up() {
    std::string absent = count_ == 2 ? "process " + std::to_string(1 - index_) : "the other processes";
    if (comm_ != MPI_COMM_NULL) {
      Calling now;
      absent = roll_call_.absent(comm_, waits_);
    }
    const char* why = absent.starts_with("process ") ? ": it" : ": one of them";
    throw Error(Errc::peer_failed, "process " + std::to_string(index()) + " waited " + in_seconds(timeout_) + " for " + absent +
                                       " " + expected() + why + " has failed, is stuck, or needs a longer timeout");
  }
  static bool ended(MPI_Request* request) {
    Calling now;
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  double timeout_;
  i64 waits_ = 0;
  RollCall roll_call_;
  int index_ = 0, count_ = 1;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

std::unique_ptr<Processes> processes(double timeout, const std::string& call) {
  return world().processes == 1 ? nullptr : processes(MPI_COMM_WORLD, timeout, call);
}

std::unique_ptr<Processes> processes(MPI_Comm comm, double timeout, const std::string& call) {
  need_threads();
  int count = 0;
  MPI_Comm_size(comm, &count);
  return count == 1 ? nullptr : std::make_unique<MpiProcesses>(comm, timeout, call);
}

}  // namespace sordino::mpi
