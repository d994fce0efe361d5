// Device tasks on engines without devices: they run on_host, cost what they say, and are checked as functors are.
#include "check.hpp"
#include "device_task_program.hpp"
#include "paper_engine.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

model::Options described(int ranks, u64 seed, bool arithmetic = true) {
  model::Options o;
  o.ranks = ranks;
  o.seed = seed;
  o.arithmetic = arithmetic;
  return o;
}

double seconds_of(DeviceTask task) {
  model::ModelEngine model(described(1, 0));
  double end = 0;
  model.run([&](Rank& s) {
    auto r = s.record([&] { s.device(task); });
    s.replay(r);
    end = s.engine().now(s);
  });
  return end;
}

void nothing(const HostView&) {}

}  // namespace

TEST("a device task does what a functor does, on 1 to 4 ranks of host and model, and their ledgers agree") {
  for (double limit : {device_tasks::reached, 1e9})
    for (int ranks : {1, 2, 3, 4}) {
      NOTE(ranks, " ranks, limit ", limit);
      host::HostEngine one({.ranks = 1}), functor({.ranks = ranks}), task({.ranks = ranks});
      auto expected = device_tasks::run(one, limit, 9, false);
      CHECK(expected.iterations == (limit == device_tasks::reached ? 6 : 9));
      CHECK((device_tasks::run(functor, limit, 9, false) == expected));
      CHECK((device_tasks::run(task, limit, 9, true) == expected));
      for (u64 seed : {0, 3, 4}) {
        model::ModelEngine model(described(ranks, seed));
        CHECK((device_tasks::run(model, limit, 9, true) == expected));
      }
      const Ledger &a = functor.rank(0).ledger, &b = task.rank(0).ledger;
      CHECK(a.commands == b.commands);
      CHECK(a.memory_bytes == b.memory_bytes);
      CHECK(a.flops == b.flops);
      CHECK(a.reductions == b.reductions);
    }
}

TEST("the model takes a device task's time from its bytes and flops, and hides a reduction behind it") {
  model::Options o;
  double byte = 1 / o.machine.memory_bandwidth;
  DeviceTask small{.name = "small", .on_host = nothing, .bytes = 1e9}, large{.name = "large", .on_host = nothing, .bytes = 3e9};
  CHECK_NEAR(seconds_of(large) - seconds_of(small), 2e9 * byte, 1e-9);

  model::ModelEngine model(described(4, 0, false));
  model.run([&](Rank& s) {
    Vec y = s.vector("y", s.add_space(equal_parts(1000, s.id(), s.size())));
    Scal sum = s.scalar("sum");
    auto r = s.record([&] {
      s.run(device_tasks::Add{y}, start(sum));
      s.device(large);
      s.wait(sum);
    });
    s.replay(r);
  });
  CHECK(model.rank(0).ledger.exposed_reduction == 0);
  CHECK(model.rank(0).ledger.hidden_reduction > 0);
}

TEST("a device task's bytes, unsaid, are the own rows of what it uses") {
  host::HostEngine host({.ranks = 1});
  host.run([&](Rank& s) {
    int space = s.add_space(equal_parts(100, 0, 1));
    Vec a = s.vector("a", space), b = s.vector("b", space);
    auto r = s.record([&] {
      s.device({.uses = {{a, Access::read}, {b, Access::update}}, .on_host = nothing});
      s.device({.uses = {{a, Access::read}}, .on_host = nothing, .bytes = 7});
    });
    s.replay(r);
    CHECK(s.ledger.memory_bytes == 100 * (8 + 16) + 7);
  });
}

TEST("a device task without on_host is refused when it is compiled for engines that need it, with its name") {
  auto job = [](Rank& s) {
    auto r = s.record([&] { s.device({.name = "transform", .on_device = [](const DeviceView&) {}}); });
    CHECK(s.ledger.commands == 0);
    s.replay(r);
  };
  host::HostEngine host({.ranks = 2, .timeout = 5});
  CHECK_THROWS(host.run(job), Error, "transform: a device task without on_host runs on GPUs only");
  model::ModelEngine model(described(1, 0));
  CHECK_THROWS(model.run(job), Error, "transform: a device task without on_host runs on GPUs only");
  model::ModelEngine predicted(described(1, 0, false));  // calls nobody
  predicted.run(job);

  paper::PaperEngine engine;
  Rank& s = engine.rank(0);
  CHECK_THROWS(s.record([&] { s.device({.name = "empty"}); }), Error, "empty: a device task without a function");
}

TEST("what a device task did not declare is not there, and permissions and the checker hold for it") {
  paper::PaperEngine engine;
  Rank& s = engine.rank(0);
  int space = s.add_space(equal_parts(4, 0, 1));
  Vec a = s.vector("a", space), b = s.vector("b", space);
  Scal k = s.scalar("k", 1), l = s.scalar("l", 1), sum = s.scalar("sum");
  DeviceTask task{.name = "transform", .uses = {{a, Access::read}}, .gets = {k}, .puts = {l}, .on_host = nothing};
  double word = 0;
  auto at = [&](int) { return &word; };
  DeviceView view(task, nullptr, at, at);
  CHECK(view.words(a) == &word);
  CHECK(view.get(k) == &word);
  CHECK(view.put(l) == &word);
  CHECK_THROWS(view.words(b), Error, "transform asks for a vector that it does not say it uses");
  CHECK_THROWS(view.get(l), Error, "transform asks for a scalar that it does not say it gets");
  CHECK_THROWS(view.put(k), Error, "transform asks for a scalar that it does not say it puts");

  s.permit(b, Permission::read_only);
  CHECK_THROWS(s.record([&] { s.device({.name = "spoil", .uses = {{b, Access::write}}, .on_host = nothing}); }), Error,
               "spoil: it writes, and may only read, 'b'");
  CHECK_THROWS(s.record([&] { s.device({.name = "reach", .uses = {{a, Access::ghost}}, .on_host = nothing}); }), Error,
               "reach: 'a' has no ghosts to read");
  CHECK_THROWS(s.record([&] { s.device({.name = "sum", .on_host = nothing}, start(sum)); }), Error, "its rows return");

  auto open = s.record([&] {
    s.run(device_tasks::Add{a}, start(sum));
    s.device({.name = "hasty", .gets = {sum}, .on_host = nothing});
  });
  CHECK_THROWS(s.replay(open), Error, "hasty reads 'sum' while its reduction is open");
}
