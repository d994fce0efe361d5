// The model engine around recordings: clocks, host data, faults, stop requests, skipped arithmetic.
#include <chrono>
#include <cstring>

#include "check.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;
using model::ModelEngine;
using model::Options;

namespace {

constexpr double us = 1e-6;

std::vector<std::byte> bytes(std::size_t n, int value = 0) { return std::vector<std::byte>(n, std::byte(value)); }

Options ranks(int n, u64 seed = 0) {
  Options o;
  o.ranks = n;
  o.seed = seed;
  return o;
}

/// One row a rank.
Space row_each(const Rank& s) {
  Space space;
  space.n_global = space.n_blocks = s.size();
  space.first_row = space.first_block = s.id();
  space.rows = 1;
  set_tiles(space, {0, 1});
  return space;
}

struct Add {
  In x;
  SORDINO_HD Sums<1> row(i32 i) { return {x[i]}; }
};
struct Increase {
  InOut x;
  SORDINO_HD void row(i32 i) { x[i] += 1; }
};
struct Never {
  Get s;
  SORDINO_HD int test() const { return proceed; }
  SORDINO_HD double value() const { return s; }
};
struct Reaches {
  Get s;
  double limit;
  template <class V>
  void fields(V&& visit) {
    visit(s);
  }
  int test() const { return s >= limit ? met : proceed; }
  double value() const { return s; }
};

/// A loop that counts up to `limit` by reducing a vector of ones, and adds.
struct Counter {
  explicit Counter(Rank& s, double limit = 1e300) {
    Vec x = s.vector("x", s.add_space(row_each(s)));
    sum = s.scalar("sum");
    loop = s.loop({}, [&] {
      s.run(Increase{x});
      s.run(Add{x}, start(sum));
      s.exit_if(Reaches{finish(sum), limit});
    });
  }
  Scal sum;
  Recorded loop;
};

}  // namespace

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
  CHECK(mail == "no rank can go on: rank 0 waits for data of rank 1; rank 1 waits for all ranks to reach a recording; rank 2 has ended");
  auto reduction = cause(6, [](Rank& s) {
    Counter c(s);
    if (s.id() != 4) s.replay(c.loop, 1);
  });
  std::string part = " waits for rank 4's part of the reduction into 'sum', epoch 1 (seen 0) (command Nothing, iteration 0)";
  CHECK(reduction == "no rank can go on: rank 0" + part + "; rank 1" + part + "; rank 2" + part + "; rank 3" + part + "; and 2 more");
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
  CHECK_THROWS(run([](Rank& s) { if (s.id()) throw std::out_of_range("far"); }), Error, "rank 1: far");
  CHECK_THROWS(run([](Rank& s) { if (s.id()) throw 1; }), Error, "rank 1: an exception that is no std::exception");
  ModelEngine e(ranks(2));
  e.probe = [](Rank& s, const Command&, Op op, int) {
    if (s.id() == 0 && op == Op::start) throw std::bad_alloc();
  };
  CHECK_THROWS(e.run([](Rank& s) { Counter c(s); s.replay(c.loop, 1); }), Error, "rank 0: command Add, iteration 0: std::bad_alloc");
}

TEST("run() inside run() is refused") {
  ModelEngine e(ranks(1));
  CHECK_THROWS(e.run([&](Rank&) { e.run([](Rank&) {}); }), Error, "run() was called inside run()");
}

TEST("a supervisor is called, and its failure ends the run") {
  ModelEngine e(ranks(2));
  int calls = 0;
  auto endless = [](Rank& s) {
    Counter c(s);
    s.replay(c.loop, 2000000000);
  };
  CHECK_THROWS(e.run(endless, [&] { if (++calls == 3) throw std::runtime_error("enough"); }), std::runtime_error, "enough");
  CHECK(calls == 3);
  CHECK_THROWS(e.run(endless), Error, "the supervisor of the run failed: enough");
}

TEST("a stop request that comes at any moment ends all ranks at the same iteration") {
  for (u64 seed = 0; seed <= 20; seed++) {
    ModelEngine e(ranks(4, seed));
    e.probe = [&](Rank& s, const Command&, Op op, int iteration) {
      if (s.id() == int(seed % 4) && op == Op::head && iteration == 5) e.request_stop();
    };
    std::vector<int> ended(4);
    e.run([&](Rank& s) {
      Counter c(s);
      Outcome out = s.replay(c.loop, 100);
      CHECK(out.verdict == asked_to_stop);
      ended[std::size_t(s.id())] = out.iterations;
    });
    NOTE("seed = ", seed);
    CHECK(ended == std::vector<int>(4, ended[0]));
    CHECK(ended[0] >= 5);
    CHECK(ended[0] <= 8);
  }
}

// All ranks send to all others; a stop request travels with the rows, the sender's own too.
TEST("a stop request travels with exchanges among everybody") {
  struct Sum {
    Ghost x;
    Out y;
    SORDINO_HD void row(i32 i) { y[i] = x[1] + x[2]; }
  };
  for (u64 seed = 0; seed <= 20; seed++) {
    ModelEngine e(ranks(3, seed));
    e.probe = [&](Rank& s, const Command&, Op op, int iteration) {
      if (s.id() == int(seed % 3) && op == Op::put && iteration == 5) e.request_stop();
    };
    std::vector<int> ended(3);
    std::vector<Exchange> exchanges(3);
    e.run([&](Rank& s) {
      Exchange& x = exchanges[std::size_t(s.id())];
      x.everybody = true;
      x.ghosts = 2;
      for (int r = 0; r < 3; r++) {
        if (r == s.id()) continue;
        ExchangePeer p;
        p.rank = r;
        p.recv_first = 1 + i32(x.peers.size());
        p.recv_count = p.send_count = 1;
        p.remote_index = s.id() < r ? s.id() : s.id() - 1;
        p.remote_first = 1 + p.remote_index;
        x.peers.push_back(p);
      }
      x.producer.first = x.consumer.rest = {{0, 1}};
      int space = s.add_space(row_each(s));
      Vec a = s.vector("a", space, &x), b = s.vector("b", space, &x), c = s.vector("c", space);
      Scal one = s.scalar("one", 1);
      Recorded loop = s.loop({.vectors = {{a, b}}, .scalars = {}}, [&] {
        s.run(Increase{a}, push(a));
        s.run(Sum{.x = a, .y = c});
        s.exit_if(Never{one});
      });
      Outcome out = s.replay(loop, 100);
      CHECK(out.verdict == asked_to_stop);
      ended[std::size_t(s.id())] = out.iterations;
    });
    NOTE("seed = ", seed);
    CHECK(ended == std::vector<int>(3, ended[0]));
  }
}

TEST("values that were skipped cannot be read") {
  Options o = ranks(2);
  o.arithmetic = false;
  ModelEngine e(o);
  e.run([&](Rank& s) {
    CHECK(!s.engine().arithmetic());
    Vec v = s.vector("v", s.add_space(row_each(s)));
    Scal known = s.scalar("known", 4.0);
    double x = 1;
    s.write(v, &x);
    Counter c(s);
    s.replay(c.loop, 3);
    CHECK(s.get(known) == 4.0);
    CHECK_THROWS(s.get(c.sum), Error, "scalar 'sum' has no value: arithmetic is skipped");
    CHECK_THROWS(s.read(v, &x), Error, "vector 'v' has no values: arithmetic is skipped");
    s.set(c.sum, 1.0);
    CHECK(s.get(c.sum) == 1.0);
    s.replay(c.loop, 1);
    CHECK_THROWS(s.get(c.sum), Error, "has no value");
    CHECK(e.allocate_bytes(s, 1000) == nullptr);
    CHECK(e.bytes_held(s.id()) == 1000 + 16);
    e.release_bytes(s, nullptr, 1000);
    CHECK(e.bytes_held(s.id()) == 16);
  });
}

TEST("loops end where the script says, or at their maximum") {
  Options o = ranks(2);
  o.arithmetic = false;
  for (int exit_at : {0, 1, 7}) {
    o.exit_at = exit_at;
    ModelEngine e(o);
    e.run([&](Rank& s) {
      Counter c(s);
      Outcome out = s.replay(c.loop, 9);
      CHECK(out.iterations == (exit_at ? exit_at : 9));
      CHECK(out.verdict == (exit_at ? met : proceed));
      CHECK(s.history.empty());
    });
  }
}

TEST("predicated commands take no time where they are passed over") {
  Options o = ranks(1);
  o.machine.launch_s = 1;
  ModelEngine e(o);
  e.run([&](Rank& s) {
    Recorded loop = s.loop({}, [&] {
      s.run(Nothing{});
      s.when(3, [&] { s.run(Nothing{}); });
    });
    s.replay(loop, 10);
    CHECK(s.ledger.commands == 13);
    CHECK(e.now(s) == 13);
  });
}

TEST("replicated spaces reduce locally, at no latency") {
  ModelEngine e(ranks(3));
  e.run([&](Rank& s) {
    Space space;
    space.n_global = space.rows = 6;
    space.n_blocks = 2;
    space.replicated = true;
    set_tiles(space, {0, 3, 6});
    Vec x = s.vector("x", s.add_space(space));
    std::vector<double> values{1, 2, 3, 4, 5, double(s.id())};
    s.write(x, values.data());
    Scal sum = s.scalar("sum");
    Recorded r = s.record([&] {
      s.run(Add{x}, start(sum));
      s.wait(sum);
    });
    s.replay(r);
    CHECK(s.get(sum) == 15 + s.id());
    CHECK(s.ledger.reductions == 0);
    CHECK(s.ledger.exposed_reduction + s.ledger.hidden_reduction == 0);
  });
}

TEST("a trace has the spans of each command") {
  Options o = ranks(2);
  o.machine.launch_s = 1;
  o.machine.reduction_base_s = 5;
  o.machine.memory_bandwidth = 8;
  ModelEngine e(o);
  e.trace().on = true;
  e.run([](Rank& s) {
    Vec x = s.vector("x", s.add_space(row_each(s)));
    Scal sum = s.scalar("sum");
    Recorded r = s.record([&] {
      s.run(Add{x}, start(sum));
      s.wait(sum);
    });
    s.replay(r);
  });
  std::string text;
  for (auto& span : e.trace().take())
    if (span.rank == 1) text += check::join(name(span.kind), " ", span.name, " ", span.start, "-", span.end, "; ");
  CHECK(text == "launch Add 0-1; compute Add 0-2; launch Wait 2-3; reduction wait Wait 3-7; compute Wait 2-7; ");
  auto& kernel = e.rank(1).ledger.kernels.at("Add");
  CHECK(kernel.calls == 1);
  CHECK(kernel.bytes == 8);
  CHECK(kernel.seconds == 2);
  CHECK(e.rank(1).ledger.kernels.at("Wait").seconds == 1);
}

TEST("a reduction that is never finished is not overwritten in silence") {
  ModelEngine e(ranks(2));
  auto job = [](Rank& s) {
    s.checking = false;
    Vec x = s.vector("x", s.add_space(row_each(s)));
    Scal sum = s.scalar("sum");
    Recorded loop = s.loop({}, [&] { s.run(Add{x}, start(sum)); });
    s.replay(loop, 5);
  };
  CHECK_THROWS(e.run(job), Error, "command Add, iteration 2: the reduction into 'sum' is started again before all ranks have finished it");
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
