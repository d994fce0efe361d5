// Rows of vectors between ranks of the host and of the model, outside of recordings.
#include "row_messages.hpp"

#include <thread>

#include "cases.hpp"

using namespace comm_cases;
using row_messages::Ring;

namespace {

/// What somebody must say on the host, in one process, and on the model.
void check_said(int ranks, const std::function<void(Rank&)>& job, const std::string& fragment, double patience = 20) {
  for (auto& said : causes(ranks, job, patience)) {
    NOTE(said);
    CHECK(said.find(fragment) != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  }
}

}  // namespace

TEST("rows of vectors arrive where they belong, in the order of their channel, beside replays and host data") {
  for (int ranks : {1, 2, 3, 4}) {
    NOTE(ranks, " ranks");
    for (bool thread : {false, true}) {
      NOTE("host", thread ? ", with a progress thread" : "");
      host::HostEngine engine({.ranks = ranks, .timeout = 20, .progress_thread = thread});
      row_messages::all(engine);
    }
    for (u64 seed : {0, 7, 8}) {
      NOTE("model, seed ", seed);
      model::ModelEngine engine(modelled(ranks, seed));
      row_messages::all(engine);
    }
  }
}

TEST("who tests a receive of rows again and again gets them, and the sender learns so") {
  on_host(2, [](Rank& s) {
    Ring ring(s);
    Communicator c(s, 20);
    auto coming = c.start_receive(ring.before, {ring.b, 0, 30});
    auto going = c.start_send(ring.next, {ring.a, 5, 30});
    while (!coming.test() || !going.test()) std::this_thread::yield();
    going.get();
    coming.get();
    CHECK(ring.read(ring.b) ==
          row_messages::with(row_messages::Values(row_messages::rows, 0.0), 0, row_messages::words_of(ring.before), 5, 30));
  });
}

TEST("another number of rows than expected is said by the receiver, whatever it waits for, and so by all") {
  check_said(
      3,
      [](Rank& s) {
        Ring ring(s);
        Communicator c(s, 20);
        auto coming = c.start_receive(ring.before, {ring.b, 0, s.id() == 1 ? 4 : 5});
        c.send(ring.next, {ring.a, 0, 5});
        coming.get();
        c.barrier();
      },
      "rank 1: rank 1 receives 4 rows into 'b' (channel 20), and rank 0 sends 5");
  check_said(
      2,
      [](Rank& s) {
        Ring ring(s);
        Communicator c(s, 20);
        if (s.id() == 0) c.send(1, {ring.a, 0, 5});
        auto coming = c.start_receive(ring.before, {ring.b, 0, 4});
        c.send(ring.next, {ring.a, 0, 4});  // on the host rank 0 waits for this one, and this one for rank 0
        coming.get();
      },
      "rank 1: rank 1 receives 4 rows into 'b' (channel 20), and rank 0 sends 5");
}

TEST("a test of a receive that cannot succeed ends, and get() says why") {
  host::HostEngine engine({.ranks = 2, .timeout = 20});
  CHECK_THROWS(engine.run(
                   [](Rank& s) {
                     Ring ring(s);
                     Communicator c(s, 20);
                     if (s.id() == 0) return c.send(1, {ring.a, 0, 5});
                     auto coming = c.start_receive(0, {ring.b, 0, 6});
                     while (!coming.test()) std::this_thread::yield();
                     coming.get();
                   },
                   {}),
               Error, "rank 1 receives 6 rows into 'b'");
}

TEST("a rank that fails before it sends, or receives, is what all others say") {
  for (bool sends : {false, true})
    check_said(
        3,
        [&](Rank& s) {
          Ring ring(s);
          Communicator c(s, 20);
          if (s.id() == 2) throw Error(Errc::io, "no more paper");
          if (sends) c.start_send(2, {ring.a, 0, 5}).get();
          c.receive(2, {ring.b, 0, 5});
        },
        "rank 2: no more paper");
}

TEST("rows that nobody sends are named when patience ends") {
  check_said(
      2,
      [](Rank& s) {
        Ring ring(s);
        if (s.id() == 0) Communicator(s, 20).receive(1, {ring.b, 0, 5});
      },
      "5 rows of rank 1 for 'b' (channel 20)", 0.3);
}

TEST("rows that nobody receives are named on the host, where the receiver copies them") {
  for (bool thread : {false, true}) {
    host::HostEngine engine({.ranks = 2, .timeout = 0.3, .progress_thread = thread});
    CHECK_THROWS(engine.run(
                     [](Rank& s) {
                       Ring ring(s);
                       Communicator c(s, 20);
                       c.send(ring.next, {ring.a, 0, 5});  // each waits for the other to receive
                       c.receive(ring.before, {ring.b, 0, 5});
                     },
                     {}),
                 Error, " to receive 5 rows of 'a' (channel 20)");
  }
}

TEST("a transfer that is dropped is an error, and so is a job that ends with one that failed") {
  auto fails = [](const char* sentence, const std::function<void(Rank&)>& job) {
    host::HostEngine one({.ranks = 1, .timeout = 20});
    CHECK_THROWS(one.run(job, {}), Error, sentence);
  };
  fails("a communication was started and never finished", [](Rank& s) {
    Ring ring(s);
    (void)Communicator(s, 20).start_send(0, {ring.a, 0, 5});
  });
  fails("the job ends with a vector, 'a', rows of which are still sent", [](Rank& s) {
    Ring ring(s);
    Communicator c(s, 20);
    auto going = c.start_send(0, {ring.a, 0, 5});
    CHECK_THROWS(c.receive(0, {ring.b, 0, 6}), Error, "receives 6 rows");
    try {
      Pending<void> dropped(std::move(going));
      throw Error(Errc::io, "unwinding");
    } catch (const Error&) {
    }
  });
}

TEST("on the model rows take the time of their bytes, with arithmetic or without") {
  double seconds[2];
  for (bool arithmetic : {false, true}) {
    model::Options o;
    o.ranks = 2;
    o.arithmetic = arithmetic;
    o.machine.link_bandwidth = 1e9;
    model::ModelEngine engine(o);
    engine.run([&](Rank& s) {
      constexpr i32 many = 1'000'000;
      Vec v = s.vector("v", s.add_space(equal_parts(many, s.id(), 2)));
      Communicator c(s, 20);
      if (s.id() == 0) c.send(1, {v, 0, many});
      if (s.id() == 1) c.receive(0, {v, 0, many});
      if (s.id() == 1) seconds[arithmetic] = engine.now(s);
      CHECK(s.ledger.bytes_sent == (s.id() == 0 ? 8'000'000 : 0));
    });
  }
  CHECK_NEAR(seconds[0], 8e-3, 1e-4);
  CHECK(seconds[0] == seconds[1]);
}
