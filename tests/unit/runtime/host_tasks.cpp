// Host tasks as commands: what they see, when they run, what they cost, and how they fail.
#include "check.hpp"
#include "host_task_program.hpp"
#include "paper_engine.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

model::Options described(int ranks, u64 seed) {
  model::Options o;
  o.ranks = ranks;
  o.seed = seed;
  return o;
}

}  // namespace

TEST("a host task sees ghosts and finished sums, and writes vectors and scalars, on 1 to 4 ranks of host and model") {
  host::HostEngine one({.ranks = 1});
  auto expected = host_tasks::run(one, 24, 400, 8);
  CHECK(expected.iterations > 1);
  CHECK(expected.iterations < 8);
  CHECK(expected.history.size() == std::size_t(expected.iterations));
  for (int ranks : {1, 2, 3, 4}) {
    NOTE(ranks, " ranks");
    host::HostEngine host({.ranks = ranks});
    CHECK((host_tasks::run(host, 24, 400, 8) == expected));
    for (u64 seed : {0, 3, 4}) {
      model::ModelEngine model(described(ranks, seed));
      CHECK((host_tasks::run(model, 24, 400, 8) == expected));
    }
  }
}

TEST("the model takes a host task to last as long as it says") {
  auto time = [](double seconds) {
    model::Options o = described(1, 0);
    model::ModelEngine model(o);
    double end = 0;
    model.run([&](Rank& s) {
      auto r = s.record([&] { s.host({.name = "think", .run = [](const HostView&) {}, .seconds = seconds}); });
      s.replay(r);
      end = s.engine().now(s);
    });
    return end;
  };
  CHECK_NEAR(time(0.5) - time(0.25), 0.25, 1e-12);
}

TEST("a host task that throws fails all ranks with its cause, and what it did not declare is not there") {
  for (const char* fault : {"out of coffee", "undeclared"}) {
    host::HostEngine host({.ranks = 3, .timeout = 5});
    auto job = [&](Rank& s) {
      Vec v = s.vector("v", s.add_space(equal_parts(4, s.id(), s.size())));
      bool mine = s.id() == 1;
      auto r = s.record([&] {
        s.host({.name = "brew", .run = [&](const HostView& host) {
                  if (!mine) return;
                  if (fault == std::string("undeclared")) host.words(v)[0] = 1;
                  throw std::runtime_error(fault);
                }});
      });
      s.replay(r);
    };
    CHECK_THROWS(host.run(job, {}), Error,
                 fault == std::string("undeclared") ? "does not say it uses" : "brew, iteration 0: out of coffee");
  }
}

TEST("commands come after the events they are told to follow, on the model's clock too") {
  auto ends = [](bool ordered) {
    model::ModelEngine model(described(1, 0));
    double end = 0;
    model.run([&](Rank& s) {
      auto r = s.record([&] {
        Event slow = s.host({.name = "slow", .run = [](const HostView&) {}, .seconds = 1});
        s.on(1, [&] {
          HostTask second{.name = "second", .run = [](const HostView&) {}, .seconds = 1};
          if (ordered)
            s.host(second, after(slow));
          else
            s.host(second);
        });
      });
      s.replay(r);
      end = s.engine().now(s);
    });
    return end;
  };
  CHECK_NEAR(ends(false), 1, 0.01);
  CHECK_NEAR(ends(true), 2, 0.01);

  paper::PaperEngine engine;
  Rank& s = engine.rank(0);
  Event old;
  s.record([&] { old = s.run(Nothing{}); });
  CHECK_THROWS(s.record([&] { s.run(Nothing{}, after(old)); }), Error, "a command of another recording");
}

TEST("a host task gets and puts only the scalars that it says") {
  for (bool puts : {false, true}) {
    host::HostEngine host({.ranks = 1, .timeout = 5});
    auto job = [&](Rank& s) {
      Scal a = s.scalar("a", 1.0);
      auto r = s.record([&] { s.host({.run = [&](const HostView& v) { puts ? v.put(a, 2) : static_cast<void>(v.get(a)); }}); });
      s.replay(r);
    };
    CHECK_THROWS(host.run(job), Error, puts ? "does not say it puts" : "does not say it gets");
  }
}
