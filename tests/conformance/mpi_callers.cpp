// An application's own communicators: parts of its processes work beside each other, and its own messages are left alone.
#include "mpi_world.hpp"
#include "problems.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;

namespace {

struct Part {  // every second process
  Part() { MPI_Comm_split(MPI_COMM_WORLD, mpi_world::process() % 2, mpi_world::process(), &comm); }
  ~Part() { MPI_Comm_free(&comm); }
  std::unique_ptr<host::HostEngine> engine(int ranks) const {
    return std::make_unique<host::HostEngine>(host::Options{.ranks = ranks, .timeout = 30}, mpi::transport(comm, ranks));
  }
  MPI_Comm comm = MPI_COMM_NULL;
};

/// A communicator that counts its duplicates.
class Counted {
 public:
  Counted() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(&copied, &deleted, &key_, nullptr);
    MPI_Comm_set_attr(comm, key_, &duplicates);
  }
  ~Counted() {
    MPI_Comm_delete_attr(comm, key_);
    MPI_Comm_free_keyval(&key_);
    MPI_Comm_free(&comm);
  }
  int duplicates = 0;
  MPI_Comm comm = MPI_COMM_NULL;

 private:
  static int copied(MPI_Comm, int, void*, void* value, void* kept, int* flag) {
    ++*static_cast<int*>(value);
    *static_cast<void**>(kept) = value;
    *flag = 1;
    return MPI_SUCCESS;
  }
  static int deleted(MPI_Comm, int, void* value, void*) {
    --*static_cast<int*>(value);
    return MPI_SUCCESS;
  }
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace

TEST("engines that come and go leave no duplicates of the caller's communicator behind, even after faults") {
  Counted counted;
  constexpr int many = 30;
  for (int k = 0; k < many; k++) {
    bool fails = k % 3 == 0;
    host::HostEngine engine({.ranks = 1, .timeout = 20}, mpi::transport(counted.comm, 1));
    auto job = [&](Rank& s) {
      Communicator c(s, 20);
      for (int q = 0; q < s.size(); q++) c.send(q, std::vector<double>(1000));  // nobody receives it
      if (fails && s.id() == 0) throw Error(Errc::io, "the disk is full");
      c.barrier();
    };
    if (fails)
      CHECK_THROWS(engine.run(job, {}), Error, "the disk is full");
    else
      engine.run(job, {});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  (void)mpi::transport(counted.comm, 1);  // looks for those that can be freed
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(counted.duplicates < 5);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < 3; k++) (void)mpi::transport(MPI_COMM_WORLD, 1), MPI_Barrier(MPI_COMM_WORLD);
  CHECK(counted.duplicates == 0);
}

TEST("engines over parts of the processes know only those, and work beside each other") {
  Part part;
  int processes = 0;
  MPI_Comm_size(part.comm, &processes);
  for (int ranks : {1, 2}) {
    auto engine = part.engine(ranks);
    CHECK(engine->size() == ranks * processes);
    if (engine->size() > 1) traffic::ring(*engine);
    traffic::collectives(*engine);
    traffic::sums(*engine);
  }
}

TEST("a solver runs on an engine over the caller's communicator, while the caller's own message waits") {
  Part part;
  int next = (mpi_world::process() + 1) % mpi_world::processes(), got = -1, mine = mpi_world::process();
  MPI_Request receive, send;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);

  CsrMatrix A = poisson(9, 8, 7, 7, 10.0);
  std::vector<double> b(std::size_t(A.n), 1.0);
  Options o = problems::options("cg", "host", 2);
  Solver solver(A.view(), o, {part.engine(2), "threads and mpi"});
  auto solved = problems::solve(solver, b);
  CHECK(solved.report.status == Status::converged);

  int arrived = 1;
  MPI_Test(&receive, &arrived, MPI_STATUS_IGNORE);
  CHECK(arrived == 0);  // none of our messages was taken for the caller's
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(&mine, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &send);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  CHECK(got == (mine + mpi_world::processes() - 1) % mpi_world::processes());
}
