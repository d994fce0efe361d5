// Replays that were started and not yet waited for, on the CPU engines: the same bits as the blocking call, one cause for all
// when something fails meanwhile, and never two things at once on one rank. tests/gpu/start.cu does the same on GPUs.
#include "check.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "unit/runtime/started_program.hpp"

using namespace started;

namespace {

std::unique_ptr<host::HostEngine> host_engine(int ranks, double timeout = 60) {
  return std::make_unique<host::HostEngine>(host::Options{.ranks = ranks, .timeout = timeout});
}
std::unique_ptr<model::ModelEngine> model_engine(int ranks, u64 seed) {
  model::Options o;
  o.ranks = ranks;
  o.seed = seed;
  return std::make_unique<model::ModelEngine>(o);
}

/// The host, and the model in the order of time and under two adversaries.
void on_all(const std::vector<int>& counts, const std::function<void(const Make&)>& test) {
  for (int ranks : counts) {
    NOTE(ranks, " ranks");
    {
      NOTE("host");
      test([&] { return host_engine(ranks); });
    }
    for (u64 seed : {0, 1, 7}) {
      NOTE("model, seed ", seed);
      test([&] { return model_engine(ranks, seed); });
    }
  }
}

void check_stop(Engine& engine, const Ended& e) {
  for (auto& o : e.outcome) {
    CHECK(o.verdict == asked_to_stop);
    CHECK(o.iterations == e.outcome[0].iterations);
    CHECK(o.iterations < 1'000'000);
  }
  for (auto& s : e.state) CHECK(s.size() == e.state[0].size());
  engine.clear_stop();
}

}  // namespace

TEST("started replays leave the bits of blocking ones, waited for or tested") { on_all({1, 2, 4}, compare_ways); }

TEST("while a replay is under way all else on its rank is refused with a sentence") {
  on_all({1, 3}, [](const Make& make) { refuse_others(*make()); });
}

TEST("replays go on while their ranks wait for host data") {
  on_all({2, 3}, [](const Make& make) { talk_meanwhile(*make()); });
}

TEST("host tasks of started replays compute what those of blocking ones do") {
  on_all({1, 3}, [](const Make& make) {
    auto engine = make();
    host_tasks::Result first = host_tasks::run(*engine, 24, 400, 8);
    for (Way way : {Way::wait, Way::poll}) CHECK((host_tasks::run(*make(), 24, 400, 8, in_the_way(way)) == first));
  });
}

TEST("a host task runs while its rank waits for host data, and cannot wait for its own replay") {
  on_all({2}, [](const Make& make) {
    auto engine = make();
    std::vector<std::byte> word{std::byte{7}};
    engine->run([&](Rank& s) {
      std::optional<Replay> mine;
      int refused = 0;
      Recorded other = s.record([&] { s.run(Nothing{}); });
      Recorded task = s.record([&] {
        s.host({.name = "tell", .run = [&](const HostView&) {
                  CHECK_THROWS(mine->wait(), Error, "a host task waits for the replay that it belongs to");
                  CHECK_THROWS(s.replay(other), Error, "a host task starts a replay on its own rank");
                  refused++;
                  engine->post(s, 1 - s.id(), 3, word);
                }});
      });
      (void)mine.emplace(s.start(task));
      CHECK(engine->take(s, 1 - s.id(), 3) == word);  // sent by the other's task
      mine->wait();
      CHECK(refused == 1);
    });
  });
}

TEST("a stop request ends started replays in the same iteration on all ranks") {
  for (Way way : ways) {
    NOTE("way ", int(way));
    auto host = host_engine(3);
    Ended e = [&] {
      auto ranks = std::size_t(3);
      Ended ended{std::vector<Outcome>(ranks), std::vector<std::vector<double>>(ranks), {}};
      host->run(
          [&](Rank& s) {
            Waves w(s);
            s.replay(w.begin);
            ended.outcome[std::size_t(s.id())] = replay(s, w.loop, 1'000'000'000, way);
            ended.state[std::size_t(s.id())] = s.history;
          },
          [&] {
            if (host->progress().iteration >= 5) host->request_stop();
          });
      return ended;
    }();
    CHECK(e.outcome[0].iterations >= 5);
    for (auto& o : e.outcome) {
      CHECK(o.verdict == asked_to_stop);
      CHECK(o.iterations == e.outcome[0].iterations);
    }
    for (u64 seed : {0, 1, 7}) {
      NOTE("seed ", seed);
      auto model = model_engine(3, seed);
      model->probe = [&](Rank& s, const Command&, Op op, int iteration) {
        if (s.id() == 1 && op == Op::head && iteration == 5) model->request_stop();
      };
      Ended m = waves(*model, endless, 1'000'000, way);
      check_stop(*model, m);
    }
  }
}

TEST("a rank that throws while its replay is under way stops the others with its cause") {
  on_all({2, 3}, [](const Make& make) { throw_meanwhile(make, 1'000'000'000); });
}

TEST("a command that fails in a started replay is the cause on all ranks, and ends the replay") {
  for (Way way : ways)
    on_all({3}, [&](const Make& make) {
      NOTE("way ", int(way));
      auto engine = make();
      Probe bomb = [](Rank& s, const Command& c, Op op, int iteration) {
        if (s.id() == 1 && op == Op::tasks && iteration == 4 && c.name == "Smooth") throw Error(Errc::device, "boom");
      };
      if (auto* h = dynamic_cast<host::HostEngine*>(engine.get())) h->probe = bomb;
      if (auto* m = dynamic_cast<model::ModelEngine*>(engine.get())) m->probe = bomb;
      Failure f = fail(*engine, [&](Rank& s) {
        Waves w(s);
        s.replay(w.begin);
        replay(s, w.loop, 1'000'000, way);
      });
      CHECK(f.cause == "rank 1: command Smooth, iteration 4: boom");
      CHECK(f.said[0] == f.cause);
      CHECK("rank 1: " + f.said[1] == f.cause);
      CHECK(f.said[2] == f.cause);
      CHECK_THROWS(engine->run([](Rank&) {}), Error, "these ranks have failed before");
    });
}

TEST("a mute rank is named by whoever waits for it, also by ranks that only test") {
  for (Way way : {Way::wait, Way::poll}) {
    NOTE("way ", int(way));
    auto host = host_engine(3, 0.3);
    host->loses = [](Rank& s, const Command&, Op op, int iteration) {
      return s.id() == 1 && op == Op::start && iteration == 6;
    };
    Failure f = fail(*host, [&](Rank& s) {
      Waves w(s);
      s.replay(w.begin);
      replay(s, w.loop, 1000, way);
    });
    NOTE(f.cause);
    // Rank 1, which still gets what it needs, soon waits for the others: either may lose patience first.
    CHECK(f.cause.find(": waited 0.3 s without any progress for rank ") != std::string::npos);
    CHECK((f.cause.find("for rank 1's part of the reduction into 'sum'") != std::string::npos ||
           f.cause.starts_with("rank 1: ")));
    CHECK_THROWS(host->run([](Rank&) {}), Error, "these ranks have failed before (" + f.cause + ")");
    auto model = model_engine(3, 0);
    f = fail(*model, [&](Rank& s) {
      Waves w(s);
      s.replay(w.begin);
      if (s.id() != 1) replay(s, w.loop, 1000, way);
    });
    NOTE(f.cause);
    CHECK(f.cause.find("no rank can go on") != std::string::npos);
    CHECK(f.cause.find("waits for rank 1's part of the reduction into 'sum', epoch 1 (seen 0)") != std::string::npos);
  }
}

TEST("a replay that its job leaves under way, or gives up, fails the run; its handle may outlive it") {
  on_all({1, 2}, leave_behind);
}
