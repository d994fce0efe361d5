// The host engine: whatever fails, and wherever, all ranks say the same cause in bounded time, and a new engine works.
#include "check.hpp"
#include "host_bench.hpp"
#include "unit/fresh.hpp"

using namespace host_bench;

namespace {

constexpr Op all_ops[] = {Op::launch, Op::finish, Op::exit_test, Op::head, Op::await, Op::tasks, Op::put, Op::start};

/// Fails on one rank, in one phase of one iteration, and returns what each rank said.
struct Failure {
  std::vector<std::string> said;
  std::string thrown;
  Errc code = Errc::bad_argument;
  double seconds = 0;
};
template <class Bomb>
Failure fail(int ranks, int rank, Op op, int iteration, const Bomb& bomb, HostEngine& engine) {
  Failure f;
  f.said.resize(std::size_t(ranks), "nothing");
  engine.probe = [=](Rank& s, const Command& c, Op at, int i) {
    if (s.id() == rank && at == op && i == iteration && c.name != "Drain") bomb();
  };
  auto begin = now();
  try {
    engine.run(
        [&](Rank& s) {
          try {
            Growth(s).run(10);
          } catch (const std::exception& e) {
            f.said[std::size_t(s.id())] = e.what();
            throw;
          }
        },
        {});
  } catch (const Error& e) {
    f.thrown = e.what();
    f.code = e.code();
  }
  f.seconds = seconds_since(begin);
  return f;
}

}  // namespace

TEST("a rank that throws in any phase, on any rank: all ranks throw the same cause, at once") {
  for (int ranks : {1, 2, 3, 5})
    for (int rank = 0; rank < ranks; rank++)
      for (Op op : all_ops) {
        NOTE("phase ", name(op), " of rank ", rank, " of ", ranks);
        HostEngine engine({.ranks = ranks});
        auto f = fail(ranks, rank, op, 2, [] { throw Error(Errc::device, "boom"); }, engine);
        std::string me = "rank " + std::to_string(rank) + ": ";
        CHECK(f.thrown.starts_with(me + "command "));
        CHECK(f.thrown.ends_with(", iteration 2: boom"));
        CHECK(f.code == Errc::device);
        for (int r = 0; r < ranks; r++) CHECK((r == rank ? me : "") + f.said[std::size_t(r)] == f.thrown);
        CHECK(f.seconds < 5);
        CHECK_THROWS(engine.run([](Rank&) {}, {}), Error, "have failed before (" + f.thrown + "): build a new solver");
      }
  HostEngine again({.ranks = 3});
  std::vector<int> iterations(3);
  again.run([&](Rank& s) { iterations[std::size_t(s.id())] = Growth(s).run(4).iterations; }, {});
  CHECK(iterations == std::vector<int>{4, 4, 4});
}

TEST("all ranks know the rank, the command and the iteration of a rank that throws") {
  for (bool memory : {false, true})
    for (Op op : all_ops) {
      NOTE(memory ? "no memory" : "throws", " in phase ", name(op));
      HostEngine engine({.ranks = 3});
      std::string command;
      engine.probe = [&](Rank& s, const Command& c, Op at, int i) {
        if (s.id() != 1 || at != op || i != 2 || c.name == "Drain") return;
        command = c.name;
        if (memory) throw std::bad_alloc();
        throw Error(Errc::device, "boom");
      };
      Watched job(engine);
      Error e = job.run(10);
      CHECK(e.cause() == Cause{.rank = 1, .command = command, .iteration = 2});
      CHECK(e.what() == place_of(e.cause()) + (memory ? std::bad_alloc().what() : "boom"));
      CHECK(!job.told(1));
      for (int r : {0, 2}) CHECK(job.told(r) == e.cause());
      CHECK(error_of(engine, [](Rank&) {}).cause() == e.cause());
    }
}

TEST("of a rank that fails outside its recordings the number alone is known") {
  HostEngine engine({.ranks = 2});
  Error e = error_of(engine, [](Rank& s) {
    Growth g(s);
    if (s.id() == 1) throw Error(Errc::io, "no paper");
    g.run(3);
  });
  CHECK(e.cause() == Cause{.rank = 1});
}

TEST("exceptions of all kinds become an error with a cause") {
  struct Odd {};
  HostEngine standard({.ranks = 2}), odd({.ranks = 2}), early({.ranks = 2});
  auto f = fail(2, 1, Op::tasks, 0, [] { throw std::runtime_error("out of luck"); }, standard);
  CHECK(f.thrown.ends_with("iteration 0: out of luck"));
  CHECK(f.code == Errc::peer_failed);
  f = fail(2, 1, Op::tasks, 0, [] { throw Odd{}; }, odd);
  CHECK(f.thrown.starts_with("rank 1: "));
  CHECK(f.thrown.ends_with("an exception that is no std::exception"));
  CHECK(cause_of(early, [](Rank& s) {
          if (s.id() == 0)
            throw 5;
          else
            Growth{s};
        }) == "rank 0: an exception that is no std::exception");
}

TEST("a rank that fails before, between or after its recordings takes the others with it") {
  for (int when : {0, 1, 2}) {
    NOTE("when = ", when);
    HostEngine engine({.ranks = 3});
    auto begin = now();
    std::string cause = cause_of(engine, [&](Rank& s) {
      auto bomb = [&](int moment) {
        if (s.id() == 2 && when == moment) throw Error(Errc::io, "the disk is full");
      };
      bomb(0);
      Growth g(s);
      bomb(1);
      g.run(5);
      bomb(2);
      g.run(5);
    });
    CHECK(cause == "rank 2: the disk is full");
    CHECK(seconds_since(begin) < 5);
  }
}

TEST("ranks that fail all at once agree on one cause") {
  for (int round = 0; round < 20; round++) {
    HostEngine engine({.ranks = 4});
    std::string cause = cause_of(engine, [](Rank& s) {
      Growth g(s);
      throw Error(Errc::device, "boom " + std::to_string(s.id()));
    });
    REQUIRE(cause.size() == 14);
    CHECK(cause == "rank " + cause.substr(13) + ": boom " + cause.substr(13));
  }
}

TEST("a rank that waits for host data of a failed rank is told the cause") {
  HostEngine engine({.ranks = 2});
  CHECK(cause_of(engine, [&](Rank& s) {
          if (s.id() == 0) throw Error(Errc::io, "no file");
          s.engine().take(s, 0, 9);
        }) == "rank 0: no file");
}

TEST("a supervisor that throws ends the run, and its exception is thrown") {
  HostEngine engine({.ranks = 3});
  auto begin = now();
  CHECK_THROWS(engine.run([](Rank& s) { Growth(s, NAN).run(1 << 30); }, [] { throw std::logic_error("the caller's own"); }),
               std::logic_error, "the caller's own");
  CHECK(seconds_since(begin) < 5);
  CHECK_THROWS(engine.run([](Rank&) {}, {}), Error, "the supervisor of the run failed: the caller's own");
}

TEST("host data between ranks arrives in order, whoever is first") {
  NOTE(fresh::said());
  for (int round = 0; round < 20; round++) {
    HostEngine engine({.ranks = 3});
    engine.run(
        [&](Rank& s) {
          fresh::Random random(u64(round * 8 + s.id()));
          auto& e = s.engine();
          auto wait_a_little = [&] {
            if (random.chance(0.3)) pause(random.real(0, 0.002));
          };
          for (int k = 0; k < 10; k++)
            for (int to = 0; to < 3; to++) {
              if (to == s.id()) continue;
              wait_a_little();
              e.post(s, to, 5, {std::byte(k), std::byte(s.id())});
            }
          for (int k = 0; k < 10; k++)
            for (int from = 2; from >= 0; from--) {
              if (from == s.id()) continue;
              wait_a_little();
              auto data = e.take(s, from, 5);
              REQUIRE(data.size() == 2);
              CHECK(int(data[0]) == k);
              CHECK(int(data[1]) == from);
            }
        },
        {});
  }
}

TEST("a rank holds thousands of vectors, and says when it holds too many") {
  HostEngine engine({.ranks = 1});
  std::string cause = cause_of(engine, [](Rank& s) {
    int space = paper::space_of(s, 1);
    for (int k = 0; k < 5000; k++) s.vector("v", space);
  });
  CHECK(cause == "rank 0: a rank holds at most 4096 vectors");
}
