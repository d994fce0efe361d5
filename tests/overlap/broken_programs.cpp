// Programs broken on purpose: the checker refuses them; unchecked, they end in a named error, never in a hang.
#include "check.hpp"
#include "runs.hpp"

namespace {

using namespace sordino;
using programs::Shape;

const Shape shape;

Outcome pcg(Rank& s) { return programs::pcg(s, shape, 1e-8, 200); }
Outcome pipelined(Rank& s) { return programs::pipelined(s, shape, 1e-8, 200); }
Outcome unrotated(Rank& s) { return programs::pipelined(s, shape, 1e-8, 200, false); }

model::Options options(u64 seed = 0) {
  model::Options o;
  o.ranks = 4;
  o.seed = seed;
  o.machine.jitter_s = seed ? 5e-6 : 0;
  return o;
}

struct Case {
  const char* what;
  runs::Program program;
  runs::Mutation mutation;
  const char* refused;    // by the checker
  const char* unchecked;  // what the model says instead
};

std::vector<Case> cases() {
  return {
      {"finish dropped", pcg, runs::drop_first(Op::finish), "with the reduction into 'pq' open",
       "scalar 'pq' is read before it has a value"},
      {"finish of a carried reduction dropped", pipelined, runs::drop_first(Op::finish),
       "reads 'gamma' while its reduction is open", "scalar 'rr' is read before it has a value"},
      {"finish doubled", pcg, runs::double_first(Op::finish), "twice, or without a start",
       "part of the reduction into 'pq', epoch 2 (seen 1)"},
      {"push dropped", pcg, runs::drop_first(Op::put), "which nobody pushes", "rows of 'p', epoch 2 (seen 1)"},
      {"push doubled", pcg, runs::double_first(Op::put), "twice before it is read", "are overwritten before they are read"},
      {"start dropped", pcg, runs::drop_first(Op::start), "twice, or without a start",
       "part of the reduction into 'pq', epoch 1 (seen 0)"},
      {"await doubled", pcg, runs::double_first(Op::await), "which nobody pushes", "rows of 'p', epoch 2 (seen 1)"},
  };
}

}  // namespace

TEST("the checker refuses broken recordings on every engine") {
  for (auto& c : cases()) {
    NOTE(c.what);
    CHECK_THROWS(runs::on_model(options(), c.program, c.mutation), Error, c.refused);
    CHECK_THROWS(runs::on_host(2, c.program, c.mutation), Error, c.refused);
  }
  CHECK_THROWS(runs::on_model(options(), unrotated), Error, "may overwrite the ghosts of 'm'");
}

TEST("unchecked, broken recordings end in a named error") {
  for (auto& c : cases())
    for (u64 seed : {0, 1, 2, 3}) {
      NOTE(c.what, ", seed = ", seed);
      CHECK_THROWS(runs::on_model(options(seed), c.program, c.mutation, false), Error, c.unchecked);
    }
}

// In the order of time all ranks march in step and the race does not happen; some adversary's order finds it.
TEST("an adversary finds ghosts that are overwritten before they are read") {
  int found = 0;
  for (u64 seed = 1; seed <= 20; seed++) try {
      runs::on_model(options(seed), unrotated, {}, false);
    } catch (const Error& e) {
      CHECK(std::string(e.what()).find("ghosts of 'm'") != std::string::npos);
      found++;
    }
  CHECK(found > 10);
}

TEST("in the order of time, a ghost is overwritten when a slow rank still reads it") {
  Shape uneven = shape;
  uneven.blocks = 4;
  uneven.lines = 12;  // ranks 0 and 1 own one block, rank 2 two
  model::Options o = options();
  o.ranks = 3;
  o.machine.memory_bandwidth = 1e9;
  CHECK_THROWS(runs::on_model(
                   o, [&](Rank& s) { return programs::pipelined(s, uneven, 1e-8, 200, false); }, {}, false),
               Error, "the ghosts of 'm' on rank 2 are overwritten before they are read");
}

TEST("a failure in any phase on any rank ends all ranks with the same cause, as on the host") {
  for (Op op : {Op::launch, Op::finish, Op::exit_test, Op::head, Op::await, Op::tasks, Op::put, Op::start})
    for (int rank = 0; rank < 4; rank++) {
      NOTE("phase ", name(op), " on rank ", rank);
      auto bomb = [=](Rank& s, const Command& c, Op at, int iteration) {
        if (s.id() == rank && at == op && iteration == 3 && c.name != "Drain") throw Error(Errc::device, "boom");
      };
      std::vector<std::string> said(4);
      auto job = [&](Rank& s) {
        try {
          pcg(s);
        } catch (const std::exception& e) {
          said[std::size_t(s.id())] = e.what();
          throw;
        }
      };
      auto cause = [&](auto& engine) {
        engine.probe = bomb;
        try {
          engine.run(job, {});
        } catch (const Error& e) {
          CHECK(e.code() == Errc::device);
          return std::string(e.what());
        }
        return std::string("no failure");
      };
      model::ModelEngine model(options());
      host::HostEngine host({.ranks = 4});
      std::string told = cause(model);
      CHECK(told.starts_with("rank " + std::to_string(rank) + ": command "));
      CHECK(told.ends_with(", iteration 3: boom"));
      for (int r = 0; r < 4; r++) CHECK((r == rank ? "rank " + std::to_string(r) + ": " : "") + said[std::size_t(r)] == told);
      CHECK(cause(host) == told);
      CHECK_THROWS(model.run(job), Error, "have failed before (" + told + ")");
    }
  model::ModelEngine again(options());  // the process can go on
  CHECK(runs::run(again, pcg).outcomes[3].verdict == met);
}
