// The programs by which `bench comm` measures overlap on GPUs, on the host: they compute what they must, and would notice a
// message that is not there.
#include "sordino/comm/cuda/overlap_programs.hpp"

#include "check.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;

namespace {

using Program = std::function<void(Rank&, overlap::Stopwatch&)>;

/// Returns the samples of the first rank.
std::vector<double> samples(int ranks, const Program& program, const std::function<void(Rank&)>& prepare = {}) {
  host::Options options;
  options.ranks = ranks;
  host::HostEngine engine(options);
  overlap::Stopwatch watch(ranks, 3, 5);
  engine.run([&](Rank& s) {
    if (prepare) prepare(s);
    program(s, watch);
  });
  return watch.seconds[0];
}

const std::vector<overlap::Shape> shapes = {{.sends = true, .words = 8, .work = 100},
                                            {.sends = false, .words = 8, .work = 100},
                                            {.sends = true, .words = 8, .work = 0},
                                            {.sends = false, .words = 8, .work = 0}};

}  // namespace

TEST("programs of overlap compute what they must, with and without messages and work") {
  for (int ranks : {1, 2, 3, 4})
    for (auto& shape : shapes) {
      NOTE(ranks, " ranks, sends ", shape.sends, ", work ", shape.work);
      CHECK(samples(ranks, [&](Rank& s, auto& watch) { overlap::halo(s, shape, watch); }).size() == 3);
      CHECK(samples(ranks, [&](Rank& s, auto& watch) { overlap::halo_in_one(s, shape, watch); }).size() == 3);
      CHECK(samples(ranks, [&](Rank& s, auto& watch) { overlap::reduction(s, shape, watch); }).size() == 3);
      for (bool ahead : {false, true})
        CHECK(samples(ranks, [&](Rank& s, auto& watch) { overlap::gather(s, shape, ahead, watch); }).size() == 3);
    }
}

TEST("programs of overlap say so when rows of other ranks have not come") {
  auto deaf = [](Rank& s) {  // nothing is sent, nothing is awaited, and nobody checks
    s.checking = false;
    s.mutate = [](Recording& r) {
      for (auto& c : r.commands) std::erase_if(c.phases, [](const Phase& p) { return p.op == Op::put || p.op == Op::await; });
    };
  };
  const overlap::Shape shape = shapes[0];
  CHECK_THROWS(samples(2, [&](Rank& s, auto& watch) { overlap::halo(s, shape, watch); }, deaf), Error, "a halo: row");
  CHECK_THROWS(
      samples(2, [&](Rank& s, auto& watch) { overlap::halo_in_one(s, shape, watch); }, deaf), Error, "in one command: row");
  for (bool ahead : {false, true})
    CHECK_THROWS(
        samples(2, [&](Rank& s, auto& watch) { overlap::gather(s, shape, ahead, watch); }, deaf), Error, "an all-gather: row");
}
