// Host twins of vectors on the CPU engines. tests/gpu/twins.cu does the same on GPUs.
#include "check.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "unit/runtime/twin_program.hpp"

using namespace sordino;

namespace {

std::unique_ptr<Engine> host_engine(int ranks) { return std::make_unique<host::HostEngine>(host::Options{.ranks = ranks}); }

std::unique_ptr<Engine> model_engine(int ranks, u64 seed = 0, bool arithmetic = true) {
  model::Options o;
  o.ranks = ranks;
  o.seed = seed;
  o.arithmetic = arithmetic;
  return std::make_unique<model::ModelEngine>(o);
}

}  // namespace

TEST("twins: values travel by fetch() and store() alone, own rows only, by name, and beside replays of other vectors") {
  for (int ranks : {1, 2, 3}) {
    NOTE(ranks, " ranks");
    twins::all(*host_engine(ranks));
    for (u64 seed : {0, 1, 7}) {
      NOTE("model, seed ", seed);
      twins::all(*model_engine(ranks, seed));
    }
  }
}

TEST("twins: a job that leaves a copy under way is told so") {
  twins::leave_behind(host_engine(2));
  twins::leave_behind(model_engine(2));
}

TEST("twins: where arithmetic is skipped there is a twin, and nothing to fetch") {
  auto engine = model_engine(2, 0, false);
  engine->run([](Rank& s) {
    twins::Named n(s);
    s.twin(n.a)[twins::rows - 1] = 1;
    s.store(n.a);
    CHECK_THROWS(s.fetch(n.a), Error, "vector 'a' has no values: arithmetic is skipped");
    s.store(n.a);
  });
}
