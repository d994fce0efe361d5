// All-reduces of host data on the virtual clock: what they take on a machine without jitter, to the last overhead, and what is
// left of it behind work. o: overhead of a message, L: its latency, P: ranks.
#include <algorithm>
#include <chrono>

#include "check.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

using namespace sordino;

constexpr double us = 1e-6, o = 0.5 * us, L = 2 * us, near_L = 0.25 * us, skew = 0.15 * us, loopback = 3 * us,
                 tolerance = 1e-12;

model::Options machine(int ranks, int ranks_per_node) {
  model::Options m;
  m.ranks = ranks;
  m.arithmetic = false;
  m.machine.ranks_per_node = ranks_per_node;
  m.machine.host_overhead_s = o;
  m.machine.link_latency_s = near_L;
  m.machine.internode_latency_s = L;
  m.machine.loopback_latency_s = loopback;
  m.machine.leader_skew_s = skew;
  m.machine.link_bandwidth = m.machine.internode_bandwidth = 1e18;
  m.machine.launch_s = 5 * us;
  return m;
}

/// The longest that any rank takes, in seconds: to start, to wait, and from start to end.
struct Times {
  double post = 0, wait = 0, total = 0;
};
enum class Wait { at_once, behind_work };

/// An all-reduce and, between its start and its end or behind both, `commands` commands of launch_s.
Times run(const model::Options& m, const AllReduceOptions& way, int commands = 0, Wait wait = Wait::behind_work,
          int late_rank = -1) {
  Times most;
  model::ModelEngine e(m);
  e.run([&](Rank& s) {
    Recorded work = s.record([&] {
      for (int k = 0; k < commands; k++) s.run(Nothing{});
    });
    Recorded delay = s.record([&] { s.run(Nothing{}); });
    Communicator c(s, 1);
    e.barrier(s);
    double t0 = e.now(s);
    if (s.id() == late_rank) s.replay(delay);
    double t1 = e.now(s);
    auto sum = c.start_all_reduce(std::vector<i32>{s.id()}, Fold::sum, way);
    most.post = std::max(most.post, e.now(s) - t1);
    i32 result = 0;
    auto finish = [&] {
      double before = e.now(s);
      result = sum.get()[0];
      most.wait = std::max(most.wait, e.now(s) - before);
    };
    if (wait == Wait::at_once) finish();
    if (commands) s.replay(work);
    if (wait == Wait::behind_work) finish();
    most.total = std::max(most.total, e.now(s) - t0);
    CHECK(result == s.size() * (s.size() - 1) / 2);
  });
  return most;
}

double latency(int ranks, int ranks_per_node, const AllReduceOptions& way) {
  return run(machine(ranks, ranks_per_node), way).total;
}

/// Steps of a k-nomial tree: the most digits other than 0 of a place, in base k.
int depth(int ranks, int degree) {
  int most = 0;
  for (int place = 0; place < ranks; place++) {
    int steps = 0;
    for (int p = place; p > 0; p /= degree) steps += p % degree > 0;
    most = std::max(most, steps);
  }
  return most;
}

int log_of(int n, int base) {
  int k = 0;
  for (; n > 1; n /= base) k++;
  return k;
}

AllReduceOptions tree(int reduce_degree, int broadcast_degree, bool by_adapter = false) {
  return {.algorithm = Algorithm::tree,
          .reduce_degree = reduce_degree,
          .broadcast_degree = broadcast_degree,
          .by_adapter = by_adapter};
}

}  // namespace

TEST("ordered: everybody sends to everybody, one message after the other") {
  for (int P : {2, 3, 16, 100, 256}) {
    NOTE(P, " ranks");
    CHECK_NEAR(latency(P, 1, {.algorithm = Algorithm::ordered}), (P - 1) * o + L, tolerance);
  }
}

TEST("recursive doubling: log2 P steps, and at most 2 more where P is no power of 2") {
  for (int P : {2, 4, 8, 64, 1024}) {
    NOTE(P, " ranks");
    CHECK_NEAR(latency(P, 1, {.algorithm = Algorithm::recursive_doubling}), log_of(P, 2) * (o + L), tolerance);
  }
  for (int P : {3, 5, 6, 7, 100, 1000}) {
    NOTE(P, " ranks");
    double t = latency(P, 1, {.algorithm = Algorithm::recursive_doubling});
    CHECK(t >= (log_of(P, 2) + 1) * (o + L) - tolerance);
    CHECK(t <= (log_of(P, 2) + 2) * (o + L) + tolerance);
  }
}

TEST("trees: as many steps as their degrees say, for every degree, to 1,024 ranks") {
  auto timed = [](int P, int k, int m) { return latency(P, 1, tree(k, m)); };
  for (int P : {4, 16, 64, 256, 1024}) {  // powers of 2 and of 4
    NOTE(P, " ranks");
    CHECK_NEAR(timed(P, 2, 4), log_of(P, 2) * (o + L) + log_of(P, 4) * (3 * o + L), tolerance);
    CHECK_NEAR(timed(P, 4, 2), log_of(P, 4) * (o + L) + log_of(P, 2) * (o + L), tolerance);
  }
  for (int P : {3, 9, 81, 729}) CHECK_NEAR(timed(P, 3, 3), log_of(P, 3) * (o + L + 2 * o + L), tolerance);
  for (int P : {5, 6, 7, 24, 100, 1000})  // a reduction alone, beside the same broadcast: by how much trees differ
    CHECK_NEAR(timed(P, 2, 4) - timed(P, 3, 4), (depth(P, 2) - depth(P, 3)) * (o + L), tolerance);
}

TEST("two levels: to the leaders of nodes, over a tree of these, and back") {
  for (int nodes : {4, 16, 64, 256}) {
    constexpr int n = 4;
    NOTE(nodes, " nodes");
    double between = log_of(nodes, 2) * (o + L) + log_of(nodes, 4) * (3 * o + L);
    double there = o + near_L + (n - 1) * skew, back = (n - 1) * (skew + o) + near_L;
    CHECK_NEAR(latency(nodes * n, n, {.algorithm = Algorithm::two_level}), there + between + back, tolerance);
  }
}

TEST("two levels grow with the ranks of a node, a flat tree stays logarithmic") {
  std::vector<double> two, flat;
  for (int P : {16, 64, 256, 1024}) {
    two.push_back(latency(P, 0, {.algorithm = Algorithm::two_level}));
    flat.push_back(latency(P, 0, tree(2, 4)));
    CHECK_NEAR(two.back(), 2 * near_L + o + (P - 1) * (2 * skew + o), tolerance);
    CHECK_NEAR(flat.back(), log_of(P, 2) * (o + near_L) + log_of(P, 4) * (3 * o + near_L), tolerance);
  }
  CHECK(two[3] > 50 * two[0]);
  CHECK(flat[3] < 3 * flat[0]);
}

TEST("where a flat tree goes through the adapter within nodes as well, two levels are shorter") {
  constexpr int P = 256, n = 4;
  double flat = latency(P, n, tree(2, 4)), by_adapter = latency(P, n, tree(2, 4, true));
  double two = latency(P, n, {.algorithm = Algorithm::two_level});
  // The first 2 steps of the reduction and the last one of the broadcast stay in a node.
  CHECK_NEAR(by_adapter - flat, 3 * (loopback - near_L), tolerance);
  CHECK(flat < two);
  CHECK(two < by_adapter);
}

TEST("a late leader holds up its node in two levels, and everybody in any all-reduce") {
  auto m = machine(64, 4);
  AllReduceOptions two{.algorithm = Algorithm::two_level};
  auto later_by = [&](const AllReduceOptions& way, int rank) {
    return run(m, way, 0, Wait::behind_work, rank).total - run(m, way).total;
  };
  CHECK_NEAR(later_by(tree(2, 4), 63), m.machine.launch_s, tolerance);          // the most steps away from rank 0
  CHECK_NEAR(later_by(two, 63), m.machine.launch_s, tolerance);                 // a member of the leader that is
  CHECK_NEAR(later_by(two, 60), m.machine.launch_s - (o + near_L), tolerance);  // that leader, which waits for its members
  CHECK_NEAR(later_by(two, 4), 0, tolerance);                                   // one step away, it has that much time
}

TEST("an all-reduce behind enough work costs its post and nothing else; waited for before the work it costs all it takes") {
  constexpr int P = 256, commands = 20;
  double work = commands * 5 * us;
  struct Case {
    AllReduceOptions way;
    int ranks;
    double post;  // of the rank with most messages to send at once
  };
  const Case cases[] = {{{.algorithm = Algorithm::ordered}, 16, 15 * o},
                        {{.algorithm = Algorithm::recursive_doubling}, P, o},
                        {tree(2, 4), P, o},
                        {{.algorithm = Algorithm::two_level}, P, o}};
  for (auto& c : cases) {
    NOTE(name(c.way.algorithm));
    auto m = machine(c.ranks, 4);
    double alone = run(m, c.way).total;
    REQUIRE(alone < work);
    Times hidden = run(m, c.way, commands), exposed = run(m, c.way, commands, Wait::at_once);
    CHECK_NEAR(hidden.post, c.post, tolerance);
    CHECK_NEAR(hidden.wait, 0, tolerance);
    CHECK_NEAR(hidden.total, c.post + work, tolerance);
    CHECK(exposed.wait >= alone - c.post - tolerance);
    CHECK_NEAR(exposed.total, alone + work, tolerance);  // so moving the wait earlier breaks the three lines above
  }
}

TEST("of an all-reduce behind too little work the rest is exposed") {
  auto m = machine(1024, 1);
  double alone = run(m, tree(2, 4)).total;
  for (int commands : {1, 2, 4}) {
    double work = commands * m.machine.launch_s;
    REQUIRE(work < alone);
    CHECK_NEAR(run(m, tree(2, 4), commands).total, alone, o + tolerance);
  }
}

TEST("bytes take their time, and messages of one rank leave one after the other") {
  auto m = machine(4, 1);
  m.machine.internode_bandwidth = 1e9;
  model::ModelEngine e(m);
  constexpr int kilobytes = 100;
  e.run([&](Rank& s) {
    Communicator c(s, 1);
    if (s.id() == 0)
      for (int q = 1; q < 4; q++) c.send(q, std::vector<char>(1000 * kilobytes));
    else
      c.receive<char>(0);
    CHECK_NEAR(e.now(s), s.id() == 0 ? 3 * o : o + s.id() * kilobytes * us + L, tolerance);
  });
}

TEST("adversaries and jitter change when things happen, not what comes out") {
  for (u64 seed = 1; seed < 12; seed++)
    for (auto& way : {tree(2, 4), AllReduceOptions{.algorithm = Algorithm::recursive_doubling}}) {
      auto m = machine(37, 4);
      m.seed = seed;
      m.machine.jitter_s = 20 * us;
      Times once = run(m, way, 3), again = run(m, way, 3);
      CHECK(once.total == again.total);
    }
}

TEST("1,024 ranks of an all-reduce take well below a second") {
  auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < 3; k++) run(machine(1024, 6), tree(2, 4));
  double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CHECK(wall < 10);  // takes 0.1 s
}
