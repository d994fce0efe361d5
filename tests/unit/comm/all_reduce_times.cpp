// What descriptions of machines say of all-reduces, against formulas, and against messages that are really played.
#include "sordino/comm/all_reduce_times.hpp"
#include "cases.hpp"

using namespace comm_cases;

namespace {

constexpr double o = 0.3e-6, near = 1e-6, far = 5e-6, leading = 0.1e-6, tiny = 1e-15;
constexpr MessageCosts one_node{.overhead = o, .near = near, .far = far, .leading = leading};

AllReduceOptions way(Algorithm a, int k = 2, int m = 4) { return {.algorithm = a, .reduce_degree = k, .broadcast_degree = m}; }

/// On the model engine's clock: every rank's end of an all-reduce of host data whose ranks begin at `starts`.
std::vector<double> played(const AllReduceOptions& options, const MessageCosts& c, const std::vector<double>& starts) {
  model::Options m;
  m.ranks = int(starts.size());
  m.machine = {.launch_s = 0,
               .link_latency_s = c.near,
               .link_bandwidth = 1e30,
               .ranks_per_node = c.ranks_per_node,
               .internode_latency_s = c.far,
               .internode_bandwidth = 1e30,
               .host_overhead_s = c.overhead,
               .leader_skew_s = c.leading};
  model::ModelEngine engine(m);
  std::vector<double> ends(starts.size());
  engine.run(
      [&](Rank& rank) {
        HostTask late{.name = "late", .run = [](const HostView&) {}, .seconds = starts[std::size_t(rank.id())]};
        Recorded r = rank.record([&] { rank.host(late); });
        rank.replay(r);
        Communicator(rank, 20).all_reduce(std::vector<double>{1.0}, Fold::sum, options);
        ends[std::size_t(rank.id())] = engine.now(rank);
      },
      {});
  return ends;
}

}  // namespace

TEST("on one node, all at once: the formulas of the schedules' headers") {
  for (int P : {2, 3, 4, 8, 13, 16, 64}) {
    NOTE(P, " ranks");
    int rounds = 0, core = 1;
    for (; 2 * core <= P; core *= 2) rounds++;
    CHECK_NEAR(all_reduce_time(way(Algorithm::ordered), one_node, P), (P - 1) * o + near, tiny);
    double doubling = all_reduce_time(way(Algorithm::recursive_doubling), one_node, P);
    if (core == P) CHECK_NEAR(doubling, rounds * (o + near), tiny);
    CHECK(doubling >= rounds * (o + near) - tiny);
    CHECK(doubling <= (rounds + 2) * (o + near) + tiny);
    if (core == P) {  // a full tree of degree 2: its deepest path, up and down
      CHECK_NEAR(all_reduce_time(way(Algorithm::tree, 2, 2), one_node, P), 2 * rounds * (o + near), 2 * rounds * o);
      CHECK(all_reduce_time(way(Algorithm::tree, 2, 2), one_node, P) >= 2 * rounds * near);
    }
    CHECK(all_reduce_time(way(Algorithm::two_level), one_node, P) >= 2 * (P - 1) * leading + 2 * near);
  }
  for (Algorithm a : {Algorithm::ordered, Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level})
    CHECK(all_reduce_time(way(a), one_node, 1) == 0);
}

TEST("ranks that start when they like, on nodes of any size: what the model engine plays with real messages") {
  NOTE(fresh::said());
  fresh::Random random(301);
  for (int P : {2, 3, 5, 8, 12, 17})
    for (int per_node : {0, 3, 4})
      for (Algorithm a : {Algorithm::ordered, Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level}) {
        MessageCosts costs{.overhead = o, .near = near, .far = far, .leading = leading, .ranks_per_node = per_node};
        std::vector<double> starts;
        for (int r = 0; r < P; r++) starts.push_back(random.real(1e-6, 20e-6));
        AllReduceOptions options = way(a, 2 + P % 3, 2 + per_node % 3);
        std::vector<double> expected = played(options, costs, starts), ends = all_reduce_ends(options, costs, starts);
        NOTE(P, " ranks, nodes of ", per_node, ", ", name(a));
        for (int r = 0; r < P; r++) CHECK_NEAR(ends[std::size_t(r)], expected[std::size_t(r)], 1e-12);
      }
}

TEST("no description tells how long a library takes") {
  for (Algorithm a : {Algorithm::mpi, Algorithm::nccl, Algorithm::automatic})
    CHECK_THROWS(all_reduce_time(way(a), one_node, 4), Error, "does not follow from a machine's description");
}
