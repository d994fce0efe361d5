// All-gathers in two hops: who trades which rows with whom, and that a request to stop reaches all ranks in the same iteration.
#include "sordino/linalg/group_gather.hpp"

#include <algorithm>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

constexpr int rows = 5000;

struct Mine {  // own rows of the next slice
  In x;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = 0.5 * x[i] + 1; }
};
struct Take {
  Whole y;
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = y[i]; }
};
struct Never {
  Get one;
  SORDINO_HD int test() const { return proceed; }
  SORDINO_HD double value() const { return one; }
};

/// A loop with two gathers by groups of two and no sum, the last of which it carries along; ends as it is asked to.
Outcome endless(Rank& s) {
  const Partition p = even_partition(rows, s.size());
  const int space = s.add_space(replicated_space(p)), me = s.id();
  const GroupGather gather(s, p, space, 2);
  const Split own{{{i32(p.first_row(me)), i32(p.first_row(me + 1))}}, {}};
  const Vec x = s.vector("x", space),
            y[] = {s.vector("y", space, &gather.last_hop()), s.vector("z", space, &gather.last_hop())};
  const Scal one = s.scalar("one", 1);
  auto product = [&](Vec whole) {
    const Vec sent = gather.next();
    s.run_split(Mine{x, sent}, own, push(sent));
    gather.hand_on(s, sent, whole);
  };
  Recorded begin = s.record([&] { product(y[1]); });
  Recorded loop = s.loop({}, [&] {
    s.exit_if(Never{one});  // after one hop, and before the other one has ended
    s.run(Take{y[1], x});
    product(y[0]);
    s.run(Take{y[0], x});
    product(y[1]);
  });
  s.replay(begin);
  return s.replay(loop, 100000);
}

}  // namespace

TEST("rows go once to each group, by the rank of the same place, and within groups no message leaves them") {
  for (auto [ranks, group] : {std::pair{4, 2}, {6, 2}, {6, 3}, {12, 4}}) {
    NOTE(ranks, " ranks in groups of ", group);
    const Partition p = even_partition(rows, ranks);
    std::vector<std::vector<ExchangePeer>> between(static_cast<std::size_t>(ranks)), within(static_cast<std::size_t>(ranks));
    host::HostEngine engine({.ranks = ranks, .timeout = 20});
    engine.run([&, group = group](Rank& s) {
      const GroupGather gather(s, p, s.add_space(replicated_space(p)), group);
      between[std::size_t(s.id())] = gather.first_hop().peers;
      within[std::size_t(s.id())] = gather.last_hop().peers;
    });
    for (int me = 0; me < ranks; me++) {
      std::vector<int> come(rows);
      for (i64 row = p.first_row(me); row < p.first_row(me + 1); row++) come[std::size_t(row)]++;
      CHECK(int(between[std::size_t(me)].size()) == ranks / group - 1);
      CHECK(int(within[std::size_t(me)].size()) == (group - 1) * (ranks / group));
      for (const auto* hop : {&between, &within})
        for (std::size_t k = 0; k < (*hop)[std::size_t(me)].size(); k++) {
          const ExchangePeer& peer = (*hop)[std::size_t(me)][k];
          CHECK((peer.rank / group == me / group) == (hop == &within));
          for (i32 row = 0; row < peer.recv_count; row++) come[std::size_t(peer.recv_first + row)]++;
          const ExchangePeer& back = (*hop)[std::size_t(peer.rank)][std::size_t(peer.remote_index)];
          CHECK(back.rank == me);
          CHECK(back.remote_index == int(k));
          CHECK(back.recv_first == peer.remote_first);
          CHECK(back.recv_count == peer.send_count);
        }
      CHECK(std::count(come.begin(), come.end(), 1) == rows);
    }
  }
}

TEST("groups that ranks do not divide into are refused, and one rank or all of them make no second hop") {
  CHECK(!takes_two_hops(6, 1));
  CHECK(takes_two_hops(6, 2));
  CHECK(takes_two_hops(6, 3));
  CHECK(!takes_two_hops(6, 6));
  for (int group : {-1, 0, 4, 7}) CHECK_THROWS(takes_two_hops(6, group), Error, "groups of equal size");
}

TEST("a stop request that comes at any moment goes along by both hops, and ends all ranks in the same iteration") {
  constexpr int ranks = 6, moments = 8;  // puts and awaits of an iteration
  auto stopped = [](auto& engine, u64 seed) {
    int seen = 0;  // by the rank that asks
    engine.probe = [&engine, &seen, seed](Rank& s, const Command&, Op op, int iteration) {
      if (s.id() != int(seed % ranks) || iteration != 5 || (op != Op::put && op != Op::await)) return;
      if (seen++ == int(seed / ranks % moments)) engine.request_stop();
    };
    std::vector<Outcome> out(ranks);
    engine.run([&](Rank& s) { out[std::size_t(s.id())] = endless(s); });
    for (const Outcome& each : out) {
      CHECK(each.verdict == asked_to_stop);
      CHECK(each.iterations == out[0].iterations);
    }
  };
  for (u64 seed = 0; seed < ranks * moments; seed++) {
    NOTE("seed = ", seed);
    for (u64 order : {0, 1, 2}) {
      model::Options o;
      o.ranks = ranks;
      o.seed = order;
      o.machine.jitter_s = 5e-6;
      model::ModelEngine on_model(o);
      stopped(on_model, seed);
    }
    host::HostEngine on_host({.ranks = ranks, .timeout = 20});
    stopped(on_host, seed);
  }
}
