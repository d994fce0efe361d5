// What an engine tells of a loop while it runs.
#include "check.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

struct Halve {
  InOut v;
  SORDINO_HD Sums<1> row(i32 i) {
    v[i] *= 0.5;
    return {v[i]};
  }
};
struct Small {
  Get sum;
  SORDINO_HD int test() const { return sum < 1 ? met : proceed; }
  SORDINO_HD double value() const { return sum; }
};

}  // namespace

TEST("progress counts an iteration of a loop as the steps that it is said to take, and its outcome counts the loop's own") {
  host::HostEngine host({.ranks = 2, .timeout = 20});
  model::Options two;
  two.ranks = 2;
  model::ModelEngine model(two);
  for (Engine* engine : {static_cast<Engine*>(&host), static_cast<Engine*>(&model)})
    for (int steps : {1, 5}) {
      NOTE(engine->name(), ", ", steps, " steps");
      engine->reset_progress();
      int rounds = 0;
      engine->run([&](Rank& s) {
        Vec v = s.vector("v", s.add_space(equal_parts(8, s.id(), s.size())));
        Scal sum = s.scalar("sum");
        const double eights[8] = {8, 8, 8, 8, 8, 8, 8, 8};
        s.write(v, eights);
        auto halving = [&] {
          s.run(Halve{v}, start(sum));
          s.exit_if(Small{finish(sum)});
        };
        Recorded loop = s.loop({}, halving, steps);
        Outcome outcome = s.replay(loop, 100);
        if (s.id() == 0) rounds = outcome.iterations;
      });
      CHECK(rounds == 8);  // 128, halved until it is less than 1
      CHECK(engine->progress().iteration.load() == rounds * steps);
      CHECK(engine->progress().value.load() == 0.5);
    }
}
