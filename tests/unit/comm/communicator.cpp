// Messages between two ranks, and what a Pending asks of who holds it. Collectives: collectives.cpp and the files beside it.
#include <bit>
#include <thread>

#include "cases.hpp"

using namespace comm_cases;

TEST("values of any type arrive as they were sent, in order, and channels are kept apart") {
  struct Point {
    double x;
    i32 k;
  };
  on_engines(3, [](Rank& s) {
    Communicator a(s, 11), b(s, 12);
    CHECK(a.size() == 3);
    CHECK(a.rank() == s.id());
    int next = (s.id() + 1) % 3, before = (s.id() + 2) % 3;
    a.send(next, std::vector<i64>{i64(1) << 40, s.id()});
    b.send(next, std::vector<Point>{{0.5, s.id()}});
    a.send(next, std::vector<char>{});
    CHECK(b.receive<Point>(before)[0].k == before);
    CHECK(a.receive<i64>(before) == (std::vector<i64>{i64(1) << 40, before}));
    CHECK(a.receive<char>(before).empty());
  });
}

TEST("sums over all ranks have the same bits everywhere, and several may be under way") {
  NOTE(fresh::said());
  for (int ranks : {1, 2, 3, 7}) {
    fresh::Random random(50);
    std::vector<std::vector<double>> values;
    for (int r = 0; r < ranks; r++) values.push_back(random.normals(5));
    std::vector<double> expected(5);
    for (auto& v : values)
      for (std::size_t k = 0; k < 5; k++) expected[k] += v[k];
    on_engines(ranks, [&](Rank& s) {
      Communicator first(s, 1), second(s, 2);
      auto a = first.start_all_reduce(values[std::size_t(s.id())]);
      auto b = second.start_all_reduce({double(s.id()), 1});
      CHECK(b.get() == (std::vector<double>{0.5 * ranks * (ranks - 1), double(ranks)}));
      auto sum = a.get();
      REQUIRE(sum.size() == 5);
      for (std::size_t k = 0; k < 5; k++) CHECK(std::bit_cast<u64>(sum[k]) == std::bit_cast<u64>(expected[k]));
    });
  }
}

TEST("what was started must be finished, once") {
  CHECK_THROWS([] { Pending<int> p([] { return 1; }); }(), Error, "a communication was started and never finished");
  Pending<int> p([] { return 5; });
  CHECK(p.get() == 5);
  CHECK_THROWS(p.get(), Error, "a communication was finished twice");
  CHECK_THROWS((void)p.test(), Error, "a communication was finished twice");
}

TEST("whether a communication has ended can be asked") {
  bool ended = false;
  Pending<int> p([] { return 5; }, [&] { return ended; });
  CHECK(!p.test());
  ended = true;
  CHECK(p.test());
  CHECK(p.get() == 5);
  Pending<void> at_once([] {});
  CHECK(at_once.test());
  at_once.get();
}

TEST("a pending communication can be handed on") {
  Pending<int> a([] { return 3; });
  Pending<int> b(std::move(a));
  CHECK_THROWS(a.get(), Error, "finished twice");
  CHECK(b.get() == 3);
}

TEST("a pending communication is silent while the stack unwinds from a fault") {
  CHECK_THROWS(
      [] {
        Pending<int> p([] { return 1; });
        throw Error(Errc::device, "the cause");
      }(),
      Error, "the cause");
  CHECK_THROWS([] { (void)Pending<int>([]() -> int { throw Error(Errc::device, "it failed"); }).get(); }(), Error, "it failed");
}

TEST("a communication dropped by a destructor's own scope is an error even if an older exception is in flight") {
  struct Cleanup {
    bool& complained;
    ~Cleanup() {
      try {
        Pending<int> p([] { return 1; });
      } catch (const Error&) {
        complained = true;
      }
    }
  };
  bool complained = false;
  try {
    Cleanup c{complained};
    throw Error(Errc::device, "older");
  } catch (const Error&) {
  }
  CHECK(complained);
}

TEST("a rank that tests again and again learns that another one has failed") {
  host::HostEngine engine({.ranks = 2, .timeout = 20});
  auto job = [](Rank& s) {
    if (s.id() == 1) throw Error(Errc::io, "no more paper");
    Communicator comm(s, 20);
    auto sum = comm.start_all_reduce(std::vector<double>{1.0});
    while (!sum.test()) std::this_thread::yield();
    sum.get();
  };
  CHECK_THROWS(engine.run(job), Error, "rank 1: no more paper");
}

TEST("ranks and lengths that cannot be are refused with a sentence") {
  auto fails = [](const char* sentence, const std::function<void(Rank&)>& job) {
    host::HostEngine two({.ranks = 2, .timeout = 20});
    CHECK_THROWS(two.run(job), Error, sentence);
  };
  fails("there is no rank 99 of 2", [](Rank& s) { Communicator(s, 20).send(99, std::vector<int>{1}); });
  fails("there is no rank -1 of 2", [](Rank& s) { Communicator(s, 20).receive<int>(-1); });
  fails("12 bytes came, which are no whole number of values of 8 bytes", [](Rank& s) {
    Communicator comm(s, 20);
    if (s.id() == 0) comm.send(1, std::vector<i32>{1, 2, 3});
    if (s.id() == 1) comm.receive<double>(0);
  });
}
