// Rows of vectors between ranks of several processes, outside of recordings.
#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/comm/row_messages.hpp"

using namespace sordino;
using namespace mpi_world;
using row_messages::Ring;

namespace {

std::unique_ptr<host::HostEngine> engine(int ranks, double timeout = 20, bool thread = false) {
  return std::make_unique<host::HostEngine>(host::Options{.ranks = ranks, .timeout = timeout, .progress_thread = thread},
                                            mpi::transport(ranks));
}

/// What all processes say.
std::string cause_of(Engine& engine, const std::function<void(Rank&, Ring&, Communicator&)>& job) {
  std::string cause = "no failure";
  try {
    engine.run(
        [&](Rank& s) {
          Ring ring(s);
          Communicator c(s, 20);
          job(s, ring, c);
        },
        {});
  } catch (const Error& e) {
    cause = e.what();
  }
  NOTE("process ", process(), " says: ", cause);
  CHECK(cause == of_the_last(cause));
  return cause;
}

}  // namespace

TEST("rows of vectors reach ranks of other processes as those of the same") {
  for (int ranks : {1, 2, 1 + process() % 2})
    for (bool thread : {false, true}) {
      NOTE(ranks, " ranks in this process", thread ? ", with a progress thread" : "");
      auto e = engine(ranks, 20, thread);
      int me = e->first_rank(), far = (me + ranks) % e->size();
      CHECK(e->row_port().carrier(me, far) == Carrier::mpi);
      CHECK(e->row_port().carrier(me, me) == Carrier::threads);
      row_messages::all(*e);
    }
}

TEST("between processes sending waits for nobody") {
  auto e = engine(1);
  e->run(
      [](Rank& s) {
        Ring ring(s);
        Communicator c(s, 20);
        c.send(ring.next, {ring.a, 0, 5});
        c.receive(ring.before, {ring.b, 0, 5});
        CHECK(ring.read(ring.b) ==
              row_messages::with(row_messages::Values(row_messages::rows, 0.0), 0, row_messages::words_of(ring.before), 0, 5));
      },
      {});
}

TEST("what is wrong with rows is one sentence in all processes") {
  for (int ranks : {1, 2}) {
    NOTE(ranks, " ranks a process");
    CHECK(cause_of(*engine(ranks), [](Rank& s, Ring& ring, Communicator& c) {
            auto coming = c.start_receive(ring.before, {ring.b, 0, s.id() == 0 ? 4 : 5});
            auto going = c.start_send(ring.next, {ring.a, 0, 5});
            coming.get();
            going.get();
            c.barrier();
          }).find("rank 0 receives 4 rows into 'b' (channel 20), and rank ") != std::string::npos);
    CHECK(cause_of(*engine(ranks), [](Rank& s, Ring& ring, Communicator& c) {
            if (s.id() == 0) throw Error(Errc::io, "no more paper");
            c.receive(0, {ring.b, 0, 5});
          }) == "rank 0: no more paper");
    CHECK(cause_of(*engine(ranks, 0.5), [](Rank& s, Ring& ring, Communicator& c) {
            if (s.id() == 0) c.receive(ring.before, {ring.b, 0, 5});
          }).find("5 rows of rank ") != std::string::npos);
  }
}
