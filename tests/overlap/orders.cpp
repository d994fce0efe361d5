// Whatever order events happen in, the same bits come out: of the model's adversary, of the host's threads, on any number of
// ranks.
#include "check.hpp"
#include "runs.hpp"

namespace {

using namespace sordino;
using programs::Shape;

struct Named {
  const char* name;
  runs::Program program;
};

std::vector<Named> solvers() {
  static const Shape shape;
  return {{"pcg", [](Rank& s) { return programs::pcg(s, shape, 1e-8, 200); }},
          {"pipelined", [](Rank& s) { return programs::pipelined(s, shape, 1e-8, 200); }}};
}

}  // namespace

TEST("20 adversarial orders on 1 to 4 ranks give the host's residual history bit for bit") {
  for (auto& [name, program] : solvers()) {
    auto reference = runs::on_host(1, program);
    REQUIRE(reference.outcomes[0].verdict == met);
    REQUIRE(reference.history.size() > 10);
    for (int ranks : {1, 2, 3, 4}) {
      auto host = runs::on_host(ranks, program);
      NOTE(name, ", ranks = ", ranks);
      CHECK(runs::same_bits(host.history, reference.history));
      for (u64 seed = 0; seed <= 20; seed++) {
        NOTE("seed = ", seed);
        model::Options o;
        o.ranks = ranks;
        o.seed = seed;
        o.machine.jitter_s = seed ? 5e-6 : 0;
        auto model = runs::on_model(o, program);
        CHECK(runs::same_bits(model.history, reference.history));
        for (int r = 0; r < ranks; r++) {
          CHECK(model.outcomes[std::size_t(r)].iterations == reference.outcomes[0].iterations);
          CHECK(model.ledgers[std::size_t(r)].same_counts(host.ledgers[std::size_t(r)]));
        }
      }
    }
  }
}

TEST("epochs wrap around") {
  for (auto& [name, program] : solvers()) {
    auto reference = runs::on_host(1, program);
    for (u64 seed : {0, 5}) {
      NOTE(name, ", seed = ", seed);
      model::Options o;
      o.ranks = 3;
      o.seed = seed;
      o.first_epoch = 0xfffffffcu;
      CHECK(runs::same_bits(runs::on_model(o, program).history, reference.history));
    }
  }
}

TEST("counts do not depend on whether arithmetic is skipped, and neither does time") {
  for (auto& [name, program] : solvers()) {
    NOTE(name);
    model::Options o;
    o.ranks = 4;
    o.machine.jitter_s = 1e-6;
    auto real = runs::on_model(o, program);
    o.arithmetic = false;
    o.exit_at = real.outcomes[0].iterations;
    auto skipped = runs::on_model(o, program);
    CHECK(skipped.history.empty());
    for (std::size_t r = 0; r < 4; r++) {
      CHECK(skipped.outcomes[r].verdict == met);
      CHECK(skipped.outcomes[r].iterations == real.outcomes[r].iterations);
      CHECK(skipped.ledgers[r].same_counts(real.ledgers[r]));
      CHECK(skipped.ledgers[r].time == real.ledgers[r].time);
      CHECK(skipped.ledgers[r].exposed_reduction == real.ledgers[r].exposed_reduction);
    }
  }
}
