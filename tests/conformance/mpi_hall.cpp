// Processes of one host find into a hall over MPI, and need no MPI in it.
#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/hall_mail.hpp"

using namespace sordino;
using namespace mpi_world;

TEST("hall: processes of MPI meet in one, as often as they like") {
  for (int ranks : {1, 2, 1 + process() % 2}) {
    auto hall = mpi::hall(ranks);
    REQUIRE(hall != nullptr);
    CHECK(hall->processes() == processes());
    CHECK(hall->process() == process());
    CHECK(hall->local_ranks() == ranks);
    hall->pulse().beats[hall->first_rank()].host = 1;
    hall->meet(20);
    CHECK(!hall->raised());
    CHECK(hall->heartbeats() == u64(processes()));
    CHECK(hall->find_lost() < 0);
    CHECK_THROWS(Hall::enter(hall->name(), std::vector<int>(std::size_t(processes()), 1), process()), Error, "cannot share");
    hall->meet(20);
  }
}

TEST("hall: parts of the processes meet in halls of their own; one process needs none") {
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, process() % 2, process(), &part);
  auto hall = mpi::hall(part, 1);
  CHECK((hall != nullptr) == (processes() > 2));
  if (hall) {
    CHECK(hall->ranks() == processes() / 2);
    hall->meet(20);
    CHECK(!hall->raised());
    MPI_Barrier(part);
  }
  MPI_Comm_free(&part);
}

TEST("hall: what one process cannot do is said in all") {
  CHECK_THROWS(mpi::hall(process() == 0 ? 300 : 1), Error, "at most 256 ranks of a host work together");
  CHECK(mpi::everywhere(true));
  CHECK(!mpi::everywhere(process() != 0));
}

TEST("hall: mail goes between all processes") {
  auto hall = mpi::hall(1);
  HallMail mail(*hall);
  for (int to = 0; to < processes(); to++)
    if (to != process()) mail.send(process(), to, 5, std::vector<std::byte>(100000, std::byte(process())));
  int came = 0;
  auto deliver = [&](int from, int, i64 tag, std::vector<std::byte> data) {
    came++;
    CHECK(tag == 5);
    CHECK((data == std::vector<std::byte>(100000, std::byte(from))));
  };
  while (came < processes() - 1 || !mail.all_sent()) mail.exchange(deliver);
  MPI_Barrier(MPI_COMM_WORLD);
}
