// Random scripts of collectives: any kinds in flight together, finished in any order, asked now and then, beside commands.
#include <functional>

#include "cases.hpp"

using namespace comm_cases;

namespace {

using Values = std::vector<i64>;

/// One collective of a program, the same on all ranks; whole numbers, so that every way gives the same.
struct Step {
  Collective kind;
  AllReduceOptions way;
  Fold fold;
  int root, channel;
  std::vector<Values> values;  // [rank]
};

struct Script {
  std::vector<Step> steps;
  std::vector<std::vector<int>> finish;  // [rank] in which order
  std::vector<std::vector<int>> idle;    // [rank][step] what it does before the step: see Player
};

Script script(fresh::Random& random, int ranks) {
  constexpr Collective kinds[] = {Collective::barrier,    Collective::broadcast, Collective::reduce,
                                  Collective::all_reduce, Collective::gather,    Collective::all_gather};
  Script p;
  int steps = int(random.whole(4, 16));
  for (int k = 0; k < steps; k++) {
    Step s{.kind = kinds[random.whole(0, 5)],
           .way = ways()[std::size_t(random.whole(0, i64(ways().size()) - 1))],
           .fold = folds[random.whole(0, 3)],
           .root = int(random.whole(0, ranks - 1)),
           .channel = int(random.whole(20, 22)),
           .values = {}};
    i64 count = random.whole(0, 5);
    for (int r = 0; r < ranks; r++) {
      s.values.emplace_back();
      for (i64 i = 0; i < count; i++) s.values.back().push_back(random.whole(-9, 9));
    }
    p.steps.push_back(std::move(s));
  }
  for (int r = 0; r < ranks; r++) {
    p.finish.emplace_back();
    for (int k = 0; k < steps; k++) p.finish.back().insert(p.finish.back().begin() + random.whole(0, k), k);
    p.idle.emplace_back();
    for (int k = 0; k < steps; k++) p.idle.back().push_back(int(random.whole(0, 3)));
  }
  return p;
}

Values folded_all(const Step& s) {
  Values all = s.values[0];
  for (std::size_t r = 1; r < s.values.size(); r++)
    for (std::size_t k = 0; k < all.size(); k++) all[k] = folded(s.fold, all[k], s.values[r][k]);
  return all;
}

/// Runs a program on one rank, and checks what comes out.
class Player {
 public:
  Player(Rank& rank, const Script& script) : s_(rank), p_(script) {
    nothing_ = s_.record([&] { s_.run(Nothing{}); });
    s_.replay(nothing_);  // to compile is collective
  }
  void play() {
    std::size_t me = std::size_t(s_.id());
    for (std::size_t k = 0; k < p_.steps.size(); k++) {
      idle(p_.idle[me][k], k);
      begin(p_.steps[k]);
    }
    for (int k : p_.finish[me]) finish_[std::size_t(k)]();
  }

 private:
  void idle(int what, std::size_t k) {
    if (what == 1) s_.replay(nothing_);
    if (what == 2 && k > 0) test_[k - 1]();
  }
  void begin(const Step& s) {
    Communicator c(s_, s.channel);
    bool root = s_.id() == s.root;
    const Values& mine = s.values[std::size_t(s_.id())];
    switch (s.kind) {
      case Collective::broadcast: return keep(c.start_broadcast(mine, s.root), s.values[std::size_t(s.root)]);
      case Collective::reduce: return keep(c.start_reduce(mine, s.root, s.fold), root ? folded_all(s) : Values());
      case Collective::all_reduce: return keep(c.start_all_reduce(mine, s.fold, s.way), folded_all(s));
      case Collective::gather: return keep(c.start_gather(mine, s.root), root ? s.values : std::vector<Values>());
      case Collective::all_gather: return keep(c.start_all_gather(mine), s.values);
      default: return keep_barrier(c.start_barrier());
    }
  }
  template <class T>
  void keep(Pending<T> pending, const T& expected) {
    auto kept = std::make_shared<Pending<T>>(std::move(pending));
    test_.push_back([kept] { (void)kept->test(); });
    finish_.push_back([kept, expected] { CHECK(kept->get() == expected); });
  }
  void keep_barrier(Pending<void> pending) {
    auto kept = std::make_shared<Pending<void>>(std::move(pending));
    test_.push_back([kept] { (void)kept->test(); });
    finish_.push_back([kept] { kept->get(); });
  }

  Rank& s_;
  const Script& p_;
  Recorded nothing_;
  std::vector<std::function<void()>> test_, finish_;
};

}  // namespace

TEST("random scripts of collectives give what a serial loop gives, with and without a progress thread, and on the model") {
  NOTE(fresh::said());
  fresh::Random random(90);
  for (int again = 0; again < 40; again++)
    for (int ranks : {2, 3, 5, 8}) {
      Script p = script(random, ranks);
      NOTE("script ", again, " of ", ranks, " ranks, ", p.steps.size(), " collectives");
      on_engines(ranks, [&](Rank& s) { Player(s, p).play(); });
    }
}
