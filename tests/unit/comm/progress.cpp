// Several communications in flight: finished in any order, asked without waiting, beside recordings and barriers.
#include <atomic>
#include <numeric>
#include <optional>

#include "cases.hpp"

using namespace comm_cases;

namespace {

std::vector<int> shuffled(fresh::Random& random, int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int k = count - 1; k > 0; k--) std::swap(order[std::size_t(k)], order[std::size_t(random.whole(0, k))]);
  return order;
}

}  // namespace

TEST("ranks finish what is in flight in different orders, on one channel or two, and nothing is mixed up") {
  NOTE(fresh::said());
  fresh::Random random(70);
  for (int ranks : {2, 3, 7, 8})
    for (int again = 0; again < 3; again++) {
      constexpr int many = 10;
      std::vector<std::vector<int>> orders;
      for (int r = 0; r < ranks; r++) orders.push_back(shuffled(random, many));
      on_engines(ranks, [&](Rank& s) {
        Communicator a(s, 3), b(s, 4);
        std::vector<Pending<std::vector<i64>>> pending;
        for (int k = 0; k < many; k++) {
          auto way = ways()[std::size_t(k) % ways().size()];
          pending.push_back((k % 2 ? a : b).start_all_reduce(std::vector<i64>{k * s.id(), k}, Fold::sum, way));
        }
        for (int k : orders[std::size_t(s.id())])
          CHECK(pending[std::size_t(k)].get() == (std::vector<i64>{k * ranks * (ranks - 1) / 2, k * ranks}));
      });
    }
}

TEST("collectives of all kinds are in flight together") {
  for (int ranks : {3, 8})
    on_engines(ranks, [&](Rank& s) {
      Communicator c(s, 3);
      std::vector<i32> mine{s.id()};
      std::vector<std::vector<i32>> one_each(std::size_t(ranks), mine);
      auto broadcast = c.start_broadcast(mine, 1);
      auto barrier = c.start_barrier();
      auto gather = c.start_gather(mine, 2);
      auto scatter = c.start_scatter(one_each, 0);
      auto all = c.start_all_to_all(one_each);
      auto part = c.start_reduce_scatter(one_each);
      auto sum = c.start_reduce(mine, 1);
      c.send((s.id() + 1) % ranks, mine);
      i32 total = ranks * (ranks - 1) / 2;
      if (s.id() % 2) CHECK(part.get() == std::vector<i32>{total});
      CHECK(sum.get() == (s.id() == 1 ? std::vector<i32>{total} : std::vector<i32>()));
      CHECK(all.get()[2] == std::vector<i32>{2});
      CHECK(c.receive<i32>((s.id() + ranks - 1) % ranks)[0] == (s.id() + ranks - 1) % ranks);
      CHECK(scatter.get() == std::vector<i32>{0});
      CHECK(gather.get().size() == (s.id() == 2 ? ranks : 0));
      barrier.get();
      if (s.id() % 2 == 0) CHECK(part.get() == std::vector<i32>{total});
      CHECK(broadcast.get() == std::vector<i32>{1});
    });
}

TEST("receives get messages in the order in which they were started, whichever is finished first") {
  on_engines(2, [](Rank& s) {
    Communicator c(s, 3);
    auto first = c.start_receive<i32>(1 - s.id());
    auto second = c.start_receive<i32>(1 - s.id());
    c.send(1 - s.id(), std::vector<i32>{1});
    c.send(1 - s.id(), std::vector<i32>{2});
    c.send(1 - s.id(), std::vector<i32>{3});
    CHECK(second.get()[0] == 2);
    CHECK(c.receive<i32>(1 - s.id())[0] == 3);
    CHECK(first.test());
    CHECK(first.get()[0] == 1);
  });
}

TEST("a test alone brings a tree to its end") {
  for (int ranks : {1, 3, 8}) {
    auto job = [&](Rank& s) {
      Communicator c(s, 3);
      auto sum = c.start_all_reduce(std::vector<i64>{1}, Fold::sum, {.algorithm = Algorithm::tree});
      bool asked = false;
      while (!sum.test()) {  // on the model time passes only where something is waited for: a message to itself
        asked = true;
        c.send(s.id(), std::vector<i32>{0});
        c.receive<i32>(s.id());
      }
      if (std::string(s.engine().name()) == "model") CHECK(asked == (ranks > 1));
      CHECK(sum.get() == std::vector<i64>{ranks});
    };
    on_host(ranks, job);
    model::ModelEngine(modelled(ranks, 0)).run(job);
  }
}

TEST("one rank waits for a tree that needs another, which is inside a barrier or a receive") {
  for (bool in_barrier : {true, false})
    on_engines(8, [&](Rank& s) {
      Communicator c(s, 3);
      auto sum = c.start_all_reduce(std::vector<i64>{s.id()}, Fold::sum, {.algorithm = Algorithm::tree});
      std::optional<std::vector<i64>> result;
      if (s.id() == 7) result = sum.get();
      if (in_barrier) {
        s.engine().barrier(s);
      } else if (s.id() == 7) {
        for (int q = 0; q < 7; q++) c.send(q, std::vector<i32>{q});
      } else {
        CHECK(c.receive<i32>(7)[0] == s.id());
      }
      if (!result) result = sum.get();
      CHECK(*result == std::vector<i64>{28});
    });
}

TEST("a communicator made again goes on where the last one of its channel stopped") {
  on_engines(4, [](Rank& s) {
    auto first = Communicator(s, 3).start_all_reduce(std::vector<i64>{1});
    auto second = Communicator(s, 3).start_all_reduce(std::vector<i64>{2});
    CHECK(second.get()[0] == 8);
    CHECK(first.get()[0] == 4);
  });
  CHECK_THROWS(on_host(1, [](Rank& s) { Communicator(s, 2048); }), Error, "channels of communicators are 0 to 2047, not 2048");
}

TEST("collectives go on in the next run where the last one stopped") {
  for (int kind : {0, 1}) {
    std::unique_ptr<Engine> e;
    if (kind)
      e = std::make_unique<model::ModelEngine>(modelled(4, 0));
    else
      e = std::make_unique<host::HostEngine>(host::Options{.ranks = 4, .timeout = 20});
    for (int run = 0; run < 3; run++)
      e->run([&](Rank& s) {
        Communicator c(s, 3);
        CHECK(c.all_reduce(std::vector<i64>{run})[0] == 4 * run);
        if (run > 0) CHECK(c.receive<i32>(s.id())[0] == run - 1);
        c.send(s.id(), std::vector<i32>{run});
      });
  }
}

TEST("commands let trees go on: one rank waits for its result while the others only replay") {
  std::atomic<bool> there{false};
  on_host(8, [&](Rank& s) {
    Recorded nothing = s.record([&] { s.run(Nothing{}); });
    Communicator c(s, 3);
    auto sum = c.start_all_reduce(std::vector<i64>{1}, Fold::sum, {.algorithm = Algorithm::tree});
    if (s.id() == 7) {
      CHECK(sum.get()[0] == 8);
      there = true;
      return;
    }
    while (!there) s.replay(nothing);
    CHECK(sum.get()[0] == 8);
  });
}

TEST("with a thread of the engine's own a tree goes on while its ranks neither wait nor begin a command") {
  for (int again = 0; again < 20; again++) {
    std::atomic<bool> there{false};
    host::HostEngine engine({.ranks = 8, .timeout = 20, .progress_thread = true});
    engine.run([&](Rank& s) {
      Communicator c(s, 3);
      auto message = c.start_receive<i32>((s.id() + 7) % 8);
      auto sum = c.start_all_reduce(std::vector<i64>{1}, Fold::sum, {.algorithm = Algorithm::tree});
      c.send((s.id() + 1) % 8, std::vector<i32>{s.id()});
      if (s.id() == 7) {
        CHECK(sum.get()[0] == 8);
        there = true;
      }
      there.wait(false);
      there.notify_all();
      if (s.id() != 7) CHECK(sum.get()[0] == 8);
      CHECK(message.get()[0] == (s.id() + 7) % 8);
    });
  }
}

TEST("the model refuses to wait for host data inside a recording") {
  model::ModelEngine e(modelled(2, 0));
  e.probe = [](Rank& s, const Command&, Op op, int) {
    if (op == Op::launch && s.id() == 0) Communicator(s, 3).receive<i32>(1);
  };
  CHECK_THROWS(e.run([](Rank& s) {
    Recorded nothing = s.record([&] { s.run(Nothing{}); });
    s.replay(nothing);
  }),
               Error, "the model cannot wait for data of rank 1 inside a recording");
}
