// The host engine's patience: a wait ends when nobody makes progress, not when time passes, and names who is missing.
#include <atomic>
#include <memory>

#include "check.hpp"
#include "host_bench.hpp"

using namespace host_bench;

namespace {

constexpr double patience = 0.3;

/// A rank that does not come back from a phase until it is released, and the engine it must not outlive.
struct Stuck {
  explicit Stuck(int ranks) : engine(std::make_unique<HostEngine>(host::Options{.ranks = ranks, .timeout = patience})) {}
  ~Stuck() {
    release();
    if (entered && engine->has_lost_a_rank())
      for (int k = 0; k < 5000 && !left; k++) pause(0.001);  // it may still look at its engine
    pause(0.05);
    engine.reset();
  }
  void in(int rank, Op op, int iteration) {
    engine->probe = [this, rank, op, iteration](Rank& s, const Command&, Op at, int i) {
      if (s.id() != rank || at != op || i != iteration || entered) return;
      entered = true;
      while (!released) pause(0.001);
      left = true;
    };
  }
  void release() { released = true; }

  std::unique_ptr<HostEngine> engine;
  std::atomic<bool> entered{false}, released{false}, left{false};
};

}  // namespace

TEST("a stuck rank ends the run of all others, who name it, in bounded time") {
  for (Op op : {Op::launch, Op::tasks, Op::put, Op::start}) {
    NOTE("phase ", name(op));
    Stuck k(3);
    k.in(1, op, 2);
    auto begin = now();
    std::string cause = cause_of(*k.engine, [](Rank& s) { Growth(s).run(10); });
    double took = seconds_since(begin);
    NOTE(cause);
    CHECK(cause.find("waited 0.3 s without any progress for rank 1's ") != std::string::npos);
    CHECK(cause.find("; still busy: rank 1 (rank ") != std::string::npos);
    CHECK(cause.find("epoch ") != std::string::npos);
    CHECK(took > patience);
    CHECK(took < patience + 2 + 3);
    CHECK(k.engine->has_lost_a_rank());
    CHECK_THROWS(k.engine->run([](Rank&) {}, {}), Error, "have failed before");
    HostEngine again({.ranks = 3});  // while the stuck one is still there
    again.run([](Rank& s) { Growth(s).run(3); }, {});
  }
}

TEST("all ranks know the epochs of a signal that is lost, and of one that is late") {
  for (bool late : {false, true})
    for (Op op : {Op::put, Op::start}) {
      NOTE(late ? "late" : "lost", " in phase ", name(op));
      HostEngine engine({.ranks = 3, .timeout = patience});
      auto is_it = [op](Rank& s, const Command& c, Op at, int i) {
        return s.id() == 1 && at == op && i == 2 && c.name != "Drain";
      };
      if (late)
        engine.probe = [=](Rank& s, const Command& c, Op at, int i) {
          if (is_it(s, c, at, i)) pause(patience + 0.5);
        };
      else
        engine.loses = is_it;
      Watched job(engine);
      Error e = job.run(10);
      const Cause& c = e.cause();
      NOTE(e.what());
      std::string text = e.what();
      CHECK(text.starts_with(place_of(c) + "waited 0.3 s without any progress for rank "));
      CHECK(text.find(epochs_of(c)) != std::string::npos);
      CHECK(c.rank >= 0);
      CHECK(c.rank < 3);
      CHECK(c.iteration >= 2);
      CHECK(c.seen < c.expected);
      CHECK(c.expected <= c.seen + 2);                                        // flags of sums take turns
      for (int r = 0; r < 3; r++) CHECK((!job.told(r) || job.told(r) == c));  // several may give up by themselves
      if (late) CHECK(job.told(1) == c);
    }
}

TEST("a rank that comes back late finds the fault, and is not lost") {
  Stuck k(2);
  k.in(0, Op::head, 1);
  std::thread later([&] {
    while (!k.entered) pause(0.001);
    pause(patience + 0.5);
    k.release();
  });
  std::string cause = cause_of(*k.engine, [](Rank& s) { Growth(s).run(10); });
  later.join();
  CHECK(cause.find("still busy: rank 0") != std::string::npos);
  CHECK(!k.engine->has_lost_a_rank());
}

TEST("a rank that never enters is named by those that wait for its recordings or its data") {
  for (bool data : {false, true}) {
    HostEngine engine({.ranks = 2, .timeout = patience});
    std::atomic<bool> done{false};
    std::string cause = cause_of(engine, [&](Rank& s) {
      if (s.id() == 0) {
        while (!done) pause(0.01);
        return;
      }
      try {
        if (data)
          s.engine().take(s, 0, 3);
        else
          Growth{s};
      } catch (...) {
        done = true;
        throw;
      }
    });
    CHECK(cause.find(data ? "for data of rank 0; still busy: rank 0"
                          : "for all ranks to reach a recording; still busy: rank 0") != std::string::npos);
  }
}

TEST("a rank that leaves early is waited for with patience, too") {
  HostEngine engine({.ranks = 2, .timeout = patience});
  std::string cause = cause_of(engine, [](Rank& s) {
    s.checking = false;  // else it is missed before its rows are
    Growth g(s);
    if (s.id() == 1) g.run(3);
  });
  CHECK(cause.starts_with(
      "rank 1: command AddGhosts, iteration 0: waited 0.3 s without any progress for rank 0's rows of 'x', epoch 1 (seen 0)"));
  CHECK(cause.find("still busy") == std::string::npos);
}

TEST("a rank that leaves before a recording is compiled is waited for likewise") {
  HostEngine engine({.ranks = 2, .timeout = patience});
  std::string cause = cause_of(engine, [](Rank& s) {
    Growth g(s);
    if (s.id() == 1) g.run(3);
  });
  CHECK(cause.starts_with("rank 1: waited 0.3 s without any progress for all ranks to reach a recording"));
  CHECK(cause.find("still busy") == std::string::npos);
}

TEST("ranks that wait for each other give up") {
  HostEngine engine({.ranks = 2, .timeout = patience});
  std::string cause = cause_of(engine, [](Rank& s) { s.engine().take(s, 1 - s.id(), 1); });
  CHECK(cause.find("without any progress for data of rank") != std::string::npos);
}

TEST("a slow rank that lives is no fault") {
  HostEngine engine({.ranks = 3, .timeout = patience});
  int commands = 0;
  engine.probe = [&](Rank& s, const Command&, Op op, int) {
    if (s.id() == 2 && op == Op::launch && commands++ < 20) pause(0.1);
  };
  auto begin = now();
  engine.run(
      [](Rank& s) {
        Growth g(s);
        if (s.id() == 2) return void(g.run(4));
        g.run(4);
      },
      {});
  CHECK(seconds_since(begin) > 2 * patience);
}

TEST("others that make progress keep a wait patient") {
  HostEngine engine({.ranks = 3, .timeout = patience});
  engine.run(
      [](Rank& s) {
        if (s.id() == 2) return void(s.engine().take(s, 1, 7));
        for (int k = 0; k < 10; k++) {  // rank 0 and 1 play, for longer than rank 2's patience
          if (s.id() == 0) pause(0.1);
          s.engine().post(s, 1 - s.id(), 8, {});
          s.engine().take(s, 1 - s.id(), 8);
        }
        if (s.id() == 1) s.engine().post(s, 2, 7, {});
      },
      {});
}

TEST("without a timeout a wait never gives up") {
  for (double never : {0.0, -1.0}) {
    HostEngine engine({.ranks = 2, .timeout = never});
    engine.run(
        [](Rank& s) {
          if (s.id() == 0) pause(0.5);
          Growth(s).run(2);
        },
        {});
  }
}

TEST("an engine is run as often as one likes, and its ranks keep what they have") {
  HostEngine engine({.ranks = 3});
  std::vector<std::unique_ptr<Growth>> programs(3);
  engine.run([&](Rank& s) { programs[std::size_t(s.id())] = std::make_unique<Growth>(s); }, {});
  for (int round = 1; round <= 50; round++)
    engine.run(
        [&](Rank& s) {
          Growth& g = *programs[std::size_t(s.id())];
          g.run(3);
          std::vector<double> x(Growth::rows);
          s.read(g.x, x.data());
          for (double v : x) CHECK(v == 64);  // (1 + 3)^3
        },
        {});
  CHECK(engine.rank(1).ledger.reductions == 150);
}
