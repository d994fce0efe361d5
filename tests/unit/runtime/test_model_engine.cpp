// The model engine around recordings: clocks, host data, faults, supervision.
#include <chrono>

#include "check.hpp"
#include "counting.hpp"

using namespace counting;

TEST("host data takes its time to another rank") {
  Options o = ranks(2);
  o.machine.link_latency_s = 3 * us;
  o.machine.link_bandwidth = 1e9;
  for (u64 seed : {0, 1, 2}) {
    o.seed = seed;
    ModelEngine e(o);
    e.run([&](Rank& s) {
      if (s.id() == 0) {
        e.post(s, 1, 7, bytes(1000, 1));
        e.post(s, 1, 8, bytes(2000, 2));
        e.post(s, 1, 7, bytes(1, 3));
      } else {
        CHECK(e.take(s, 0, 8) == bytes(2000, 2));
        CHECK_NEAR(e.now(s), 3 * us + 3 * us, 1e-15);  // behind the first, on the same link
        CHECK(e.take(s, 0, 7) == bytes(1000, 1));
        CHECK(e.take(s, 0, 7) == bytes(1, 3));
      }
    });
  }
}

TEST("a barrier brings clocks together") {
  Options o = ranks(3);
  o.machine.launch_s = 1;
  ModelEngine e(o);
  e.run([&](Rank& s) {
    Recorded nothing = s.record([&] { s.run(Nothing{}); });
    for (int k = 0; k <= s.id(); k++) s.replay(nothing);
    CHECK(e.now(s) == s.id() + 1);
    CHECK(s.ledger.time == s.id() + 1);
    e.barrier(s);
    CHECK(e.now(s) == 3);
  });
}

TEST("an engine runs many times, and ranks keep what they have") {
  ModelEngine e(ranks(3));
  std::vector<std::unique_ptr<Counter>> counters(3);
  e.run([&](Rank& s) { counters[std::size_t(s.id())] = std::make_unique<Counter>(s); });
  for (int k = 1; k <= 5; k++)
    e.run([&](Rank& s) {
      auto& mine = *counters[std::size_t(s.id())];
      CHECK(s.replay(mine.loop, 2).iterations == 2);
      CHECK(s.get(mine.sum) == 3 * 2 * k);
    });
}

TEST("who waits for what is said when no rank can go on") {
  auto cause = [](int n, auto job) {
    ModelEngine e(ranks(n));
    try {
      e.run(job);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no failure");
  };
  auto mail = cause(3, [](Rank& s) {
    if (s.id() == 0) s.engine().take(s, 1, 0);
    if (s.id() == 1) s.engine().barrier(s);
  });
  CHECK(
      mail ==
      "no rank can go on: rank 0 waits for data of rank 1; rank 1 waits for all ranks to reach a recording; rank 2 has ended");
  auto reduction = cause(6, [](Rank& s) {
    Counter c(s);
    if (s.id() != 4) s.replay(c.loop, 1);
  });
  std::string part = " waits for rank 4's part of the reduction into 'sum', epoch 1 (seen 0) (command Nothing, iteration 0)";
  CHECK(reduction ==
        "no rank can go on: rank 0" + part + "; rank 1" + part + "; rank 2" + part + "; rank 3" + part + "; and 2 more");
}

TEST("a fault is known on all ranks of the model: of waiting ranks, the first one's wait") {
  auto known = [](ModelEngine& e, auto job) {
    std::vector<Cause> said;
    auto note = [&](const Error& error) { said.push_back(error.cause()); };
    try {
      e.run([&](Rank& s) {
        try {
          job(s);
        } catch (const PeerFailed& failed) {
          note(failed);
          throw;
        }
      });
    } catch (const Error& error) {
      note(error);
    }
    return said;
  };
  ModelEngine waiting(ranks(3)), throwing(ranks(3));
  auto missed = known(waiting, [](Rank& s) {
    Counter c(s);
    if (s.id() != 2) s.replay(c.loop, 1);
  });
  Cause expected{.rank = 0, .command = "Nothing", .iteration = 0, .expected = 1, .seen = 0};
  CHECK(missed == std::vector<Cause>{expected, expected, expected});
  throwing.probe = [](Rank& s, const Command&, Op op, int i) {
    if (s.id() == 1 && op == Op::start && i == 3) throw Error(Errc::device, "boom");
  };
  auto thrown = known(throwing, [](Rank& s) {
    Counter c(s);
    s.replay(c.loop, 5);
  });
  Cause boom{.rank = 1, .command = "Add", .iteration = 3};
  CHECK(thrown == std::vector<Cause>{boom, boom, boom});
}

TEST("a fault reaches all ranks, poisons the engine, and leaves others alone") {
  ModelEngine e(ranks(4));
  std::vector<std::string> said(4);
  auto job = [&](Rank& s) {
    try {
      Counter c(s);
      s.replay(c.loop, 5);
      if (s.id() == 2) bad_argument("no");
      s.replay(c.loop, 5);
    } catch (const PeerFailed& failed) {
      said[std::size_t(s.id())] = failed.what();
      throw;
    }
  };
  CHECK_THROWS(e.run(job), Error, "rank 2: no");
  CHECK(said == std::vector<std::string>{"rank 2: no", "rank 2: no", "", "rank 2: no"});
  CHECK_THROWS(e.run(job), Error, "these ranks have failed before (rank 2: no): build a new solver");
  ModelEngine other(ranks(4));
  other.run([](Rank& s) {
    Counter c(s);
    s.replay(c.loop, 5);
  });
}

TEST("exceptions of all kinds become an error with a cause") {
  auto run = [](auto job) {
    ModelEngine e(ranks(2));
    e.run(job);
  };
  CHECK_THROWS(run([](Rank& s) {
                 if (s.id()) throw std::out_of_range("far");
               }),
               Error, "rank 1: far");
  CHECK_THROWS(run([](Rank& s) {
                 if (s.id()) throw 1;
               }),
               Error, "rank 1: an exception that is no std::exception");
  ModelEngine e(ranks(2));
  e.probe = [](Rank& s, const Command&, Op op, int) {
    if (s.id() == 0 && op == Op::start) throw std::bad_alloc();
  };
  CHECK_THROWS(e.run([](Rank& s) {
    Counter c(s);
    s.replay(c.loop, 1);
  }),
               Error, "rank 0: command Add, iteration 0: std::bad_alloc");
}

TEST("run() inside run() is refused") {
  ModelEngine e(ranks(1));
  CHECK_THROWS(e.run([&](Rank&) { e.run([](Rank&) {}); }), Error, "run() was called inside run()");
}

TEST("a supervisor is called, and its failure ends the run") {
  for (int n : {1, 2}) {
    NOTE("ranks = ", n);
    ModelEngine e(ranks(n));
    int calls = 0;
    auto endless = [](Rank& s) {
      Counter c(s);
      s.replay(c.loop, 2000000000);
    };
    CHECK_THROWS(e.run(endless,
                       [&] {
                         if (++calls == 3) throw std::runtime_error("enough");
                       }),
                 std::runtime_error, "enough");
    CHECK(calls == 3);
    CHECK_THROWS(e.run(endless), Error, "the supervisor of the run failed: enough");
  }
}

TEST("bad options are refused") {
  CHECK_THROWS(ModelEngine(ranks(0)), Error, "the number of ranks must be at least 1, not 0");
  Options o;
  o.machine.memory_bandwidth = 0;
  CHECK_THROWS(ModelEngine(o), Error, "memory_bandwidth");
}

TEST("a thousand ranks cost little") {
  Options o = ranks(1000);
  o.arithmetic = false;
  auto begin = std::chrono::steady_clock::now();
  ModelEngine e(o);
  e.run([](Rank& s) {
    Counter c(s);
    s.replay(c.loop, 20);
  });
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 5);
  CHECK(e.rank(999).ledger.reductions == 20);
}
