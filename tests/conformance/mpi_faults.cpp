// A rank that fails in one process ends the ranks of all processes, with its cause, in bounded time; then all can build a new
// engine.
#include <atomic>

#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "unit/runtime/host_bench.hpp"

using namespace host_bench;
using namespace mpi_world;

namespace {

std::unique_ptr<HostEngine> engine(int ranks, double timeout = 20) {
  return std::make_unique<HostEngine>(host::Options{.ranks = ranks, .timeout = timeout}, mpi::transport(ranks));
}

void check_works() {
  auto e = engine(2);
  e->run(
      [&](Rank& s) {
        Growth g(s);
        g.run(4);
        CHECK(s.get(g.sum) == std::pow(1.0 + s.size(), 4) * s.size() * Growth::rows);
      },
      {});
}

}  // namespace

TEST("processes know their ranks") {
  auto e = engine(2);
  CHECK(e->size() == 2 * processes());
  CHECK(e->first_rank() == 2 * process());
  CHECK(e->local_ranks() == 2);
  auto uneven = engine(1 + process() % 2);
  CHECK(uneven->size() == processes() + processes() / 2);
}

TEST("a rank that throws in any phase: all processes throw its cause, and work again") {
  for (Op op : {Op::launch, Op::finish, Op::exit_test, Op::head, Op::await, Op::tasks, Op::put, Op::start}) {
    NOTE("phase ", name(op));
    auto e = engine(2);
    int culprit = e->size() - 1;
    e->probe = [&](Rank& s, const Command& c, Op at, int iteration) {
      if (s.id() == culprit && at == op && iteration == 2 && c.name != "Drain") throw Error(Errc::device, "boom");
    };
    auto begin = now();
    std::string cause = cause_of(*e, [](Rank& s) { Growth(s).run(10); });
    CHECK(seconds_since(begin) < 5);
    CHECK(cause.starts_with("rank " + std::to_string(culprit) + ": command "));
    CHECK(cause.ends_with(", iteration 2: boom"));
    CHECK(cause == of_the_last(cause));
    CHECK_THROWS(e->run([](Rank&) {}, {}), Error, "have failed before");
    e.reset();
    check_works();
  }
}

TEST("ranks of all processes know the same of a fault") {
  for (std::string kind : {"dropped", "late", "throws", "memory"}) {
    NOTE(kind);
    bool waits = kind == "dropped" || kind == "late";
    auto e = engine(2, waits ? 0.5 : 20);
    int culprit = e->size() - 1;
    auto is_it = [=](Rank& s, const Command& c, Op at, int i) {
      return s.id() == culprit && at == Op::start && i == 2 && c.name == "Increase";
    };
    if (kind == "dropped")
      e->loses = is_it;
    else
      e->probe = [=](Rank& s, const Command& c, Op at, int i) {
        if (!is_it(s, c, at, i)) return;
        if (kind == "late") pause(1.0);
        if (kind == "throws") throw Error(Errc::device, "boom");
        if (kind == "memory") throw std::bad_alloc();
      };
    Watched job(*e);
    Error error = job.run(10);
    const Cause& c = error.cause();
    std::string text = error.what();
    NOTE(text);
    CHECK(all_know(c));
    CHECK(text.starts_with(place_of(c)));
    CHECK((text.find(epochs_of(c)) != std::string::npos) == waits);
    if (waits)
      CHECK((c.seen < c.expected && c.expected <= c.seen + 2));  // flags of sums take turns
    else
      CHECK(c == Cause{.rank = culprit, .command = "Increase", .iteration = 2});
    e.reset();
    MPI_Barrier(MPI_COMM_WORLD);
    check_works();
  }
}

TEST("a rank that fails before its first recording, or between two") {
  for (int when : {0, 1}) {
    NOTE("when = ", when);
    auto e = engine(1);
    std::string cause = cause_of(*e, [&](Rank& s) {
      bool last = s.id() == s.size() - 1;
      if (last && when == 0) throw Error(Errc::io, "the disk is full");
      Growth g(s);
      if (last) throw Error(Errc::io, "the disk is full");
      g.run(5);
    });
    CHECK(cause == "rank " + std::to_string(e->size() - 1) + ": the disk is full");
    e.reset();
    check_works();
  }
}

TEST("a fault while the others are not in a run is told when they come") {
  auto e = engine(1);
  e->run([](Rank& s) { Growth(s).run(2); }, {});
  MPI_Barrier(MPI_COMM_WORLD);
  bool last = process() == processes() - 1;
  if (!last) pause(0.3);
  std::string cause = cause_of(*e, [&](Rank& s) {
    if (last) throw Error(Errc::io, "no more paper");
    Growth(s).run(2);
  });
  CHECK(cause == "rank " + std::to_string(processes() - 1) + ": no more paper");
  e.reset();
  check_works();
}

TEST("a stuck rank is named by the other processes, and finds the fault when it comes back") {
  auto e = engine(2, 0.5);
  std::atomic<bool> stuck{false};
  int culprit = e->size() - 1;
  e->probe = [&](Rank& s, const Command&, Op op, int iteration) {
    if (s.id() != culprit || op != Op::tasks || iteration != 2 || stuck) return;
    stuck = true;
    pause(1.5);
  };
  auto begin = now();
  std::string cause = cause_of(*e, [](Rank& s) { Growth(s).run(10); });
  CHECK(seconds_since(begin) < 8);
  CHECK(cause.find("waited 0.5 s without any progress for rank " + std::to_string(culprit) + "'s") != std::string::npos);
  CHECK(!e->has_lost_a_rank());
  e.reset();
  MPI_Barrier(MPI_COMM_WORLD);
  check_works();
}

TEST("a rank that throws when the others have all that they need of it: all processes throw") {
  for (int culprit : {0, 2 * processes() - 1}) {
    NOTE("culprit ", culprit);
    auto e = engine(2);
    auto begin = now();
    std::string cause = cause_of(*e, [&](Rank& s) {
      Growth(s).run(4);
      if (s.id() != culprit) return;
      pause(0.2);
      throw Error(Errc::io, "the disk is full");
    });
    CHECK(cause == "rank " + std::to_string(culprit) + ": the disk is full");
    CHECK(seconds_since(begin) < 2);
    e.reset();
    check_works();
  }
}

TEST("ranks of all processes that throw at about the same time: one cause") {
  auto random = shared_random(u64(process()));  // other delays in every process
  for (int round = 0; round < 40; round++) {
    NOTE("round ", round);
    auto e = engine(2);
    MPI_Barrier(MPI_COMM_WORLD);
    double delay = round % 2 ? 0 : random.real(0, 3e-4);
    std::string cause = cause_of(*e, [&](Rank& s) {
      pause(delay);
      throw Error(Errc::io, "no paper in " + std::to_string(s.id()));
    });
    CHECK(cause.find("no paper in ") != std::string::npos);
    CHECK(cause == of_the_last(cause));
  }
}

TEST("a process that comes with a fault of its own when the others have agreed on theirs says what they say") {
  for (int late : {0, processes() - 1}) {
    NOTE("late ", late);
    auto e = engine(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (process() == late) pause(1.3);
    std::string cause = cause_of(*e, [&](Rank& s) { throw Error(Errc::io, "no paper in " + std::to_string(s.id())); });
    CHECK(cause == of_the_last(cause));
    CHECK(cause.find("no paper in " + std::to_string(late)) == std::string::npos);
  }
}

TEST("a process that never comes to a run is missed at its end, by all alike") {
  auto e = engine(1, 0.3);
  bool absent = process() == processes() - 1;
  MPI_Barrier(MPI_COMM_WORLD);
  auto begin = now();
  std::string cause;
  if (!absent) cause = cause_of(*e, [](Rank&) {});
  CHECK(seconds_since(begin) < 2.3);
  std::string missed = std::to_string(processes() - 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (absent) cause = cause_of(*e, [](Rank&) {});
  CHECK(cause == of_the_last(cause));
  CHECK(cause.find("for rank " + missed + "'s end of the run, epoch 1 (seen 0)") != std::string::npos);
  Cause known = error_of(*e, [](Rank&) {}).cause();
  CHECK(all_know(known));
  CHECK(known.expected == 1);
  CHECK(known.seen == 0);
}

TEST("who has ended waits for a process that is busy for longer than the timeout") {
  auto e = engine(1, 0.4);
  for (int round = 0; round < 2; round++)
    e->run(
        [&](Rank& s) {
          Growth(s).run(2);
          if (s.id() == s.size() - 1) pause(1.0);
        },
        {});
}

TEST("a slow process that lives is no fault") {
  auto e = engine(1, 0.4);
  e->probe = [](Rank& s, const Command&, Op op, int iteration) {
    if (s.id() == s.size() - 1 && op == Op::launch && iteration < 4) pause(0.1);
  };
  e->run([](Rank& s) { Growth(s).run(8); }, {});
}

TEST("host data travels between processes in order, of any size, also empty") {
  auto e = engine(2);
  e->run(
      [](Rank& s) {
        Communicator comm(s, 5);
        for (int k = 0; k < 5; k++)
          for (int q = 0; q < s.size(); q++)
            if (q != s.id()) comm.send(q, std::vector<double>(std::size_t(k * 30000), s.id() + 0.5 * k));
        for (int k = 0; k < 5; k++)
          for (int q = s.size() - 1; q >= 0; q--) {
            if (q == s.id()) continue;
            auto v = comm.receive<double>(q);
            REQUIRE(v.size() == k * 30000);
            for (double x : v) REQUIRE(x == q + 0.5 * k);
          }
        auto sum = comm.start_all_reduce({1.0, double(s.id())}).get();
        CHECK(sum[0] == s.size());
        CHECK(sum[1] == 0.5 * s.size() * (s.size() - 1));
      },
      {});
}

TEST("epochs wrap around between processes") {
  for (u32 first : {0x7ffffffau, 0xfffffffau}) {
    HostEngine e({.ranks = 2, .timeout = 10, .first_epoch = first}, mpi::transport(2));
    e.run(
        [](Rank& s) {
          Growth g(s);
          for (int round = 0; round < 3; round++) {
            g.run(6);
            CHECK(s.get(g.sum) == std::pow(1.0 + s.size(), 6) * s.size() * Growth::rows);
          }
        },
        {});
  }
}

TEST("a stop request of one process ends all, in the same iteration") {
  auto e = engine(2);
  if (process() == 0) e->request_stop();
  int iterations = 0;
  e->run(
      [&](Rank& s) {
        Outcome o = Growth(s, NAN).run(1 << 30);
        if (s.id() == e->first_rank()) iterations = o.iterations;
        CHECK(o.verdict == asked_to_stop);
      },
      {});
  CHECK(agree(iterations));
}
