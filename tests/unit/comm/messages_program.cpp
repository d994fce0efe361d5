// The loops by which `bench comm` times messages on GPUs, on the host: they compute what they must between any two ranks, and
// would notice a message that is not there.
#include "sordino/comm/cuda/messages_program.hpp"

#include "check.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;

namespace {

struct Case {
  const char* complaint;
  void (*program)(Rank&, i32, overlap::Stopwatch&);
};
constexpr Case cases[] = {{"messages to and fro: row", messages::ping_pong},
                          {"messages one way: row", messages::one_way},
                          {"messages both ways: row", messages::both_ways},
                          {"a broadcast: row", messages::broadcast}};

/// How many samples each rank has taken.
std::vector<std::size_t> samples(int ranks, int iterations, i32 words, const Case& c,
                                 const std::function<void(Rank&)>& prepare = {}) {
  host::Options options;
  options.ranks = ranks;
  host::HostEngine engine(options);
  overlap::Stopwatch watch(ranks, 3, iterations);
  engine.run([&](Rank& s) {
    if (prepare) prepare(s);
    c.program(s, words, watch);
  });
  std::vector<std::size_t> taken;
  for (auto& of_rank : watch.seconds) taken.push_back(of_rank.size());
  return taken;
}

}  // namespace

TEST("messages between the first rank and the last one, and from one to all, leave what they must") {
  for (int ranks : {2, 3, 4})
    for (int iterations : {1, 2, 5})
      for (i32 words : {1, 7, 1000})
        for (const Case& c : cases) {
          NOTE(c.complaint, ", ", ranks, " ranks, ", iterations, " iterations, ", words, " words");
          CHECK(samples(ranks, iterations, words, c) == std::vector<std::size_t>(std::size_t(ranks), 3));
        }
}

TEST("messages that do not come are noticed") {
  auto deaf = [](Rank& s) {  // nothing is sent, nothing is awaited, and nobody checks
    s.checking = false;
    s.mutate = [](Recording& r) {
      for (auto& c : r.commands) std::erase_if(c.phases, [](const Phase& p) { return p.op == Op::put || p.op == Op::await; });
    };
  };
  for (const Case& c : cases) CHECK_THROWS(samples(2, 4, 8, c, deaf), Error, c.complaint);
}
