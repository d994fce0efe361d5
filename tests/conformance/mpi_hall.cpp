// Processes of one host find into a hall over MPI, and need no MPI in it; halls of several hosts are bridged over it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/bridge.hpp"
#include "sordino/runtime/hall_mail.hpp"
#include "within.hpp"

using namespace sordino;
using test::within;
using namespace mpi_world;

namespace {

/// A hall, and a thread that carries what its bridge says, as an engine's does. Ends when all others have ended, too.
class Bridged {
 public:
  Bridged(int ranks, int host) : hall(mpi::hall(ranks, host)), transport_(mpi::transport(ranks)), bridge_(*hall, *transport_) {
    thread_ = std::thread([this] {
      while (!done_) {
        transport_->poll(
            [&](const Message& m, const std::byte* data, std::size_t bytes) { CHECK(bridge_.hear(m, data, bytes)); });
        bridge_.step();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  }
  ~Bridged() {
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int over = 0; !over; std::this_thread::sleep_for(std::chrono::microseconds(100)))
      MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    done_ = true;
    thread_.join();
  }
  std::unique_ptr<Hall> hall;

 private:
  std::unique_ptr<Transport> transport_;
  Bridge bridge_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace

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
  CHECK_THROWS(mpi::hall(process() == 0 ? 300 : 1), Error, "at most 256 ranks work together");
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

// --- several hosts -----------------------------------------------------------------------------------------------------------
// A process counts as being on the host that it says. MPI is called by several threads here, one at a time or not at all.

TEST("hall: hosts have halls of their own, whose barriers open when all hosts are there") {
  std::vector<std::function<int(int)>> ways{[](int p) { return p; }, [](int p) { return p % 2; },
                                            [](int p) { return int(p > 0); }};  // the first process is alone on its host
  for (auto& host_of : ways) {
    std::vector<int> on_host(std::size_t(processes()), 0);
    for (int p = 0; p < processes(); p++) on_host[std::size_t(host_of(p))]++;
    int host = host_of(process()), hosts = int(std::count_if(on_host.begin(), on_host.end(), [](int n) { return n > 0; }));
    Bridged b(1 + process() % 2, host);
    Hall& hall = *b.hall;
    REQUIRE(hall.hosts() == hosts);
    CHECK(hall.host() == host);
    CHECK(hall.near_processes() == on_host[std::size_t(host)]);
    CHECK(host_of(hall.leader(hall.host())) == host);
    CHECK(hall.is_near(hall.first_rank()));
    for (int round = 0; round < 20; round++) hall.meet(20);
    hall.pulse().beats[hall.first_rank()].host = 7;
    CHECK(within(20, [&] { return hall.heartbeats() == u64(7 * processes()); }));
    for (int r = hall.first_rank(); r < hall.first_rank() + hall.local_ranks(); r++) hall.set_waiting(r, true);
    auto all_wait = [&] {
      for (int r = 0; r < hall.ranks(); r++)
        if (!hall.is_waiting(r)) return false;
      return true;
    };
    CHECK(within(20, all_wait));
    // Every rank enters as often as it likes; no gate opens before the last one is inside.
    u32 round = 0;
    for (int k = 0; k < 20; k++) {
      for (int r = 0; r < hall.local_ranks(); r++) round = hall.enter_ranks();
      REQUIRE(within(20, [&] { return hall.gate_of_ranks().is_over(round); }));
    }
    CHECK(!hall.raised());
    // Who tells of his neighbours stays until they have ended as many runs as he.
    hall.set_busy(true);
    hall.meet(20);
    if (process() != hall.leader(host)) hall.set_busy(false);
    if (process() == hall.leader(host)) {
      hall.set_busy(false);
      CHECK(within(20, [&] { return hall.neighbours_have_ended(); }));
      hall.set_busy(true);
      hall.set_busy(false);
      CHECK(hall.neighbours_have_ended() == (hall.near_processes() == 1));
    }
    hall.meet(20);
  }
}

TEST("hall: a barrier of hosts stays closed while one is missing") {
  Bridged b(1, process());
  u32 round = 0;
  if (process() != 1) {
    round = b.hall->enter_ranks();
    CHECK(!within(0.2, [&] { return b.hall->gate_of_ranks().is_over(round); }));
  }
  b.hall->meet(20);
  if (process() == 1) round = b.hall->enter_ranks();
  CHECK(within(20, [&] { return b.hall->gate_of_ranks().is_over(round); }));
}

TEST("hall: whichever hosts fail, and whenever, all of them say the same") {
  for (int who = 0; who <= processes(); who++) {
    Bridged b(1, process());
    Hall& hall = *b.hall;
    hall.meet(20);
    std::string mine = "process " + std::to_string(process()) + " has failed";
    if (who == processes() || who == process())
      hall.raise({Errc::device, mine, {.rank = process(), .command = "Sum", .iteration = 4}});
    REQUIRE(within(20, [&] { return hall.raised(); }));
    CHECK(hall.pulse().abort == 1);
    CHECK(hall.code() == Errc::device);
    if (who < processes()) CHECK(hall.cause() == "process " + std::to_string(who) + " has failed");
    CHECK(hall.cause() == of_the_last(hall.cause()));
    CHECK(hall.cause() == "process " + std::to_string(hall.error().cause().rank) + " has failed");
    CHECK(Cause{.command = "Sum", .iteration = 4}.within(hall.error().cause()) == hall.error().cause());
  }
}

TEST("hall: complaints are known on all hosts, before the cause that follows from them") {
  Bridged b(1, process());
  Hall& hall = *b.hall;
  hall.meet(20);
  int me = process(), last = processes() - 1;
  hall.complain(me, 10 - me, 3, "rank " + std::to_string(me) + " complains", {.rank = me, .seen = 5});
  CHECK(within(20, [&] { return hall.complaints() == processes(); }));
  CHECK(std::string(hall.first_complaint().what()) == "rank " + std::to_string(last) + " complains");
  if (me == last) hall.raise(hall.first_complaint());
  REQUIRE(within(20, [&] { return hall.raised(); }));
  CHECK(hall.cause() == "rank " + std::to_string(last) + " complains");
  CHECK(hall.error().cause() == Cause{.rank = last, .seen = 5});
}
