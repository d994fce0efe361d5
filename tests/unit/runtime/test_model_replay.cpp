// The model engine in recordings: stop requests, skipped arithmetic, predicates, traces.
#include "check.hpp"
#include "counting.hpp"

using namespace counting;

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
  CHECK(text ==
        "launch Add 0-1; compute Add 0-2; launch Wait 2-3; reduction sum 2-7; reduction wait Wait 3-7; compute Wait 2-7; ");
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
  CHECK_THROWS(e.run(job), Error,
               "command Add, iteration 2: the reduction into 'sum' is started again before all ranks have finished it");
}

TEST("a stop request that came with an earlier recording ends the next loop at its first test") {
  ModelEngine e(ranks(3));
  e.request_stop();
  e.run([&](Rank& s) {
    Vec x = s.vector("x", s.add_space(row_each(s)));
    Scal sum = s.scalar("sum");
    Recorded reduces = s.record([&] {
      s.run(Add{x}, start(sum));
      s.wait(sum);
    });
    Recorded loop = s.loop({}, [&] { s.exit_if(Never{sum}); });
    s.replay(reduces);
    Outcome out = s.replay(loop, 10);
    CHECK(out.iterations == 1);
    CHECK(out.verdict == asked_to_stop);
  });
}

namespace {

struct SlowRead {
  Ghost x;
  Out y;
  double bytes;
  template <class V>
  void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  void row(i32 i) { y[i] = x[1]; }
  Cost cost() const { return {bytes, 0}; }
};

}  // namespace

// Rank 1 reads for 10 s what rank 0, which is quicker, sends anew after 2 s: the read has begun, and is not over.
TEST("ghosts are protected until the command that reads them ends") {
  Options o = ranks(2);
  o.machine.memory_bandwidth = 1;
  ModelEngine e(o);
  std::vector<Exchange> exchanges(2);
  auto job = [&](Rank& s) {
    s.checking = false;
    Exchange& x = exchanges[std::size_t(s.id())];
    x.ghosts = 1;
    ExchangePeer other;
    other.rank = 1 - s.id();
    other.recv_first = other.recv_count = other.send_count = other.remote_first = 1;
    x.peers = {other};
    x.consumer.rest = x.producer.first = {{0, 1}};
    int space = s.add_space(row_each(s));
    Vec a = s.vector("a", space, &x), b = s.vector("b", space);
    Recorded loop = s.loop({}, [&] {
      s.run(Nothing{}, push(a));
      s.run(SlowRead{a, b, s.id() ? 10.0 : 1.0});
    });
    s.replay(loop, 3);
  };
  CHECK_THROWS(e.run(job), Error,
               "rank 0: command Nothing, iteration 1: the ghosts of 'a' on rank 1 are overwritten before they are read");
}
