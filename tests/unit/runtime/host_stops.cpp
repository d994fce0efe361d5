// Stop requests and epochs on the host engine: flags are epoch << 1 | stop, and epochs wrap around.
#include <atomic>

#include "check.hpp"
#include "host_bench.hpp"
#include "unit/fresh.hpp"

using namespace host_bench;

namespace {

/// Runs a loop without an end, and asks it to stop. Returns where each rank stopped.
template <class Job>
std::vector<Outcome> stopped(HostEngine& engine, double after, const Job& job) {
  std::vector<Outcome> out(std::size_t(engine.size()));
  std::thread asks([&] {
    pause(after);
    engine.request_stop();
  });
  engine.run([&](Rank& s) { out[std::size_t(s.id())] = job(s); }, {});
  asks.join();
  return out;
}

struct Mine {  // my slice of a gathered vector
  Ghost x;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = 0.5 * x[i] + 1; }
};
struct Take {
  Whole y;
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = y[i]; }
};
struct Never {
  Get one;
  SORDINO_HD int test() const { return proceed; }
  SORDINO_HD double value() const { return one; }
};

}  // namespace

TEST("a stop request ends the loop on all ranks in the same iteration, whenever it comes") {
  NOTE(fresh::said());
  fresh::Random random(2);
  for (int ranks : {1, 2, 3, 7})
    for (int round = 0; round < 5; round++) {
      HostEngine engine({.ranks = ranks});
      auto out = stopped(engine, random.real(0, 0.02), [](Rank& s) { return Growth(s, NAN).run(1 << 30); });
      NOTE("ranks = ", ranks, ", iterations = ", out[0].iterations);
      for (auto& o : out) {
        CHECK(o.verdict == asked_to_stop);
        CHECK(o.iterations == out[0].iterations);
      }
    }
}

TEST("a stop request made before the run begins ends its first loop, until it is cleared") {
  HostEngine engine({.ranks = 2});
  engine.request_stop();
  CHECK(engine.stop_requested());
  std::vector<Outcome> out(2);
  engine.run([&](Rank& s) { out[std::size_t(s.id())] = Growth(s, NAN).run(1 << 30); }, {});
  CHECK(out[0].iterations == 1);
  CHECK(out[1].iterations == 1);
  engine.clear_stop();
  engine.run(
      [&](Rank& s) {
        s.stop_seen = false;
        out[std::size_t(s.id())] = Growth(s, NAN).run(9);
      },
      {});
  CHECK(out[0].iterations == 9);
  CHECK(!out[0].exited());
}

TEST("a stop request travels with all-gathers where nothing is reduced") {
  for (int ranks : {1, 2, 3}) {
    HostEngine engine({.ranks = ranks});
    auto out = stopped(engine, 0.01, [&](Rank& s) {
      constexpr i32 each = 3;
      i32 n = each * s.size(), first = each * s.id();
      int space = paper::space_of(s, n, true);
      Exchange x;
      x.everybody = true;
      for (int q = 0; q < s.size(); q++) {
        if (q == s.id()) continue;
        ExchangePeer p;
        p.rank = q;
        p.recv_first = each * q;
        p.recv_count = p.send_count = each;
        p.send_first = p.remote_first = first;
        p.remote_index = s.id() < q ? s.id() : s.id() - 1;
        x.peers.push_back(p);
      }
      x.consumer = {{{first, first + each}}, {}};
      if (first > 0) x.consumer.rest.push_back({0, first});
      if (first + each < n) x.consumer.rest.push_back({first + each, n});
      Split mine{{{first, first + each}}, {}};
      Vec v = s.vector("v", space), y = s.vector("y", space, &x), y_old = s.vector("y old", space, &x);
      Scal one = s.scalar("one", 1);
      auto loop = s.loop({.vectors = {{y, y_old}}}, [&] {
        s.run_split(Mine{v, y}, mine);
        s.push_last(y);
        s.run(Take{y, v});
        s.exit_if(Never{one});
      });
      Outcome o = s.replay(loop, 1 << 30);
      std::vector<double> values(static_cast<std::size_t>(n));
      s.read(v, values.data());
      for (double a : values) CHECK(a == values[0]);
      return o;
    });
    for (auto& o : out) {
      CHECK(o.verdict == asked_to_stop);
      CHECK(o.iterations == out[0].iterations);
    }
  }
}

TEST("progress is told to whoever supervises the run") {
  HostEngine engine({.ranks = 2});
  int last = 0, looks = 0;
  engine.probe = [](Rank& s, const Command&, Op op, int) {
    if (s.id() == 0 && op == Op::launch) pause(0.0002);
  };
  engine.run([](Rank& s) { Growth(s, NAN).run(1 << 30); },
             [&] {
               int seen = engine.progress().iteration.load();
               CHECK(seen >= last);
               last = seen;
               if (++looks == 4) engine.request_stop();
             });
  CHECK(last > 0);
  engine.reset_progress();
  CHECK(engine.progress().iteration == 0);
}

TEST("epochs wrap around, at 31 bits and at 32") {
  for (u32 first : {0u, 1u, 0x7ffffffau, 0x7fffffffu, 0xfffffffau, 0xffffffffu})
    for (int ranks : {1, 2, 3}) {
      NOTE("first epoch = ", first, ", ranks = ", ranks);
      HostEngine engine({.ranks = ranks, .timeout = 5, .first_epoch = first});
      double grown = std::pow(1.0 + ranks, 10);
      engine.run(
          [&](Rank& s) {
            Growth g(s);
            for (int round = 0; round < 3; round++) {
              g.run(10);
              CHECK(s.get(g.sum) == grown * ranks * Growth::rows);
            }
            CHECK(s.reductions()[0].started == first + 30);
            CHECK(s.pushed[0] == first + 30);
          },
          {});
    }
}

TEST("a stop request is understood when epochs wrap around") {
  HostEngine engine({.ranks = 2, .timeout = 5, .first_epoch = 0x7ffffffau});
  engine.request_stop();
  std::vector<Outcome> out(2);
  engine.run(
      [&](Rank& s) {
        Growth g(s, NAN);
        for (int round = 0; round < 12; round++) {
          s.stop_seen = false;
          out[std::size_t(s.id())] = g.run(1 << 30);
          CHECK(out[std::size_t(s.id())].iterations == 1);
        }
      },
      {});
}

TEST("flags hold an epoch and a stop request") {
  for (u32 epoch : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
    for (bool stop : {false, true}) {
      u32 word = host::flag_word(epoch, stop);
      CHECK(bool(word & 1) == stop);
      CHECK(host::is_epoch(word, epoch));
      CHECK(!host::is_epoch(word, epoch + 1));
      CHECK(!host::is_epoch(word, epoch - 1));
      CHECK(!host::is_epoch(word, epoch - 2));
    }
}

TEST("1,000 short runs on an engine, with ranks late at random, compute the same") {
  NOTE(fresh::said());
  HostEngine engine({.ranks = 3, .timeout = 20});
  std::atomic<u64> turn{0};
  engine.probe = [&](Rank&, const Command&, Op, int) {
    if (fresh::Random(turn++).chance(0.002)) pause(0.0005);
  };
  std::vector<std::unique_ptr<Growth>> programs(3);
  engine.run([&](Rank& s) { programs[std::size_t(s.id())] = std::make_unique<Growth>(s); }, {});
  for (int round = 0; round < 1000; round++)
    engine.run(
        [&](Rank& s) {
          Growth& g = *programs[std::size_t(s.id())];
          g.run(2);
          CHECK(s.get(g.sum) == 16.0 * 3 * Growth::rows);
        },
        {});
}
