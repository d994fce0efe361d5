// Letters of which only their senders know.
#include "sordino/comm/delivery.hpp"

#include "cases.hpp"

using namespace comm_cases;

namespace {

using Words = std::vector<i64>;

/// [from] the letters of a rank, to any ranks, itself among them, some to the same one.
std::vector<std::vector<Dispatch>> random_letters(fresh::Random& random, int ranks) {
  std::vector<std::vector<Dispatch>> all;
  for (int from = 0; from < ranks; from++) {
    auto& mine = all.emplace_back();
    for (i64 k = random.whole(0, 6); k > 0; k--) {
      Words words;
      for (i64 w = random.whole(0, 9); w > 0; w--) words.push_back(random.whole(-100, 100));
      mine.push_back({.to = int(random.whole(0, ranks - 1)), .words = words});
    }
  }
  return all;
}

}  // namespace

TEST("letters reach whom they are for, in the order of their senders, on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(71);
  for (int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 31}) {
    NOTE(ranks, " ranks");
    const auto letters = random_letters(random, ranks);
    on_engines(ranks, [&](Rank& s) {
      const std::vector<Dispatch> mine = deliver(s, 3, letters[std::size_t(s.id())]);
      std::size_t next = 0;
      for (int from = 0; from < ranks; from++)
        for (auto& sent : letters[std::size_t(from)]) {
          if (sent.to != s.id()) continue;
          REQUIRE(next < mine.size());
          CHECK(mine[next].from == from);
          CHECK(mine[next].to == s.id());
          CHECK(mine[next].words == sent.words);
          next++;
        }
      CHECK(next == mine.size());
    });
  }
}

TEST("a letter to a rank that is none is refused, and nobody waits for it") {
  CHECK_THROWS(host::HostEngine(host::Options{.ranks = 3, .timeout = 20})
                   .run([](Rank& s) { deliver(s, 3, {{.to = s.id() == 1 ? 3 : 0}}); }, {}),
               Error, "a letter is for rank 3, which is none");
}
