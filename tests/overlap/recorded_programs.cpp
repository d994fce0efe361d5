// Overlap as a tested property, on programs recorded by hand: what a described machine exposes, and how long it takes.
// Exposed time and total time are asserted both: a program can expose nothing and still be slower.
#include "check.hpp"
#include "runs.hpp"

namespace {

using namespace sordino;
using programs::Shape;

constexpr double us = 1e-6, tiny = 1e-12;
constexpr double reduction = 2 * us, product = 5 * us;
constexpr int ranks = 4, middle = 1;
const Shape shape;
const i64 rows = shape.rows() / ranks;

/// The product takes 5 us, a reduction 2 us, nothing else costs anything but memory traffic.
model::Options described() {
  model::Options o;
  o.ranks = ranks;
  o.machine.launch_s = o.machine.put_overhead_s = 0;
  o.machine.memory_bandwidth = programs::operator_bytes(shape, rows) / product;
  o.machine.reduction_base_s = reduction;
  o.machine.link_latency_s = 0.1 * us;
  o.machine.link_bandwidth = 1e18;
  return o;
}

Outcome pcg(Rank& s, int max) { return programs::pcg(s, shape, 0, max); }
Outcome pipelined(Rank& s, int max) { return programs::pipelined(s, shape, 0, max); }

bool hides_its_reduction(const runs::Iteration& it, double time) {
  return it.exposed_reduction < tiny && std::abs(it.hidden_reduction - reduction) < tiny && std::abs(it.time - time) < tiny;
}

}  // namespace

TEST("classic PCG exposes two reductions an iteration, and takes as long as they and its traffic") {
  model::Options o = described();
  auto it = runs::per_iteration(o, pcg, middle);
  CHECK_NEAR(it.exposed_reduction, 2 * reduction, tiny);
  CHECK_NEAR(it.hidden_reduction, 0, tiny);
  CHECK_NEAR(it.exposed_halo, 0, tiny);
  CHECK_NEAR(it.imbalance, 0, tiny);
  CHECK_NEAR(it.time, programs::pcg_bytes(shape, rows) / o.machine.memory_bandwidth + 2 * reduction, tiny);
}

TEST("pipelined CG hides its reduction behind a longer product, and takes as long as its traffic") {
  model::Options o = described();
  double traffic = programs::pipelined_bytes(shape, rows) / o.machine.memory_bandwidth;
  auto it = runs::per_iteration(o, pipelined, middle);
  CHECK(hides_its_reduction(it, traffic));
  CHECK_NEAR(it.imbalance, 0, tiny);

  auto mutated = runs::per_iteration(o, pipelined, middle, runs::finish_at_once);
  CHECK(!hides_its_reduction(mutated, traffic));
  CHECK_NEAR(mutated.exposed_reduction, reduction, tiny);
  CHECK_NEAR(mutated.time, traffic + reduction, tiny);
}

TEST("pipelined CG exposes what a shorter product cannot hide") {
  model::Options o = described();
  o.machine.reduction_base_s = product + 3 * us;
  auto it = runs::per_iteration(o, pipelined, middle);
  CHECK_NEAR(it.exposed_reduction, 3 * us, tiny);
  CHECK_NEAR(it.hidden_reduction, product, tiny);
  CHECK_NEAR(it.time, programs::pipelined_bytes(shape, rows) / o.machine.memory_bandwidth + 3 * us, tiny);
}

TEST("launches hide a part of a reduction, and cost more than they hide") {
  model::Options o = described();
  o.machine.launch_s = 0.5 * us;
  auto it = runs::per_iteration(o, pcg, middle);
  CHECK_NEAR(it.exposed_reduction, 2 * (reduction - 0.5 * us), tiny);
  CHECK_NEAR(it.hidden_reduction, 2 * 0.5 * us, tiny);
  CHECK_NEAR(it.time, programs::pcg_bytes(shape, rows) / o.machine.memory_bandwidth + 2 * reduction + 0.5 * us, tiny);
}

TEST("an iteration that fits in a described cache takes its bandwidth, and one that is far larger takes the memory's") {
  auto taken = [](double bytes) {
    model::Options o = described();
    o.machine.cache = {.bytes = bytes, .share = 0.5, .bandwidth = 4 * o.machine.memory_bandwidth};
    return runs::per_iteration(o, pcg, middle).time - 2 * reduction;
  };
  double traffic = programs::pcg_bytes(shape, rows), bandwidth = described().machine.memory_bandwidth;
  CHECK_NEAR(taken(2 * traffic), traffic / (4 * bandwidth), tiny);
  CHECK_NEAR(taken(1e-3 * traffic), traffic / bandwidth, 0.01 * traffic / bandwidth);
  CHECK(taken(0.5 * traffic) > taken(2 * traffic));
  CHECK(taken(0.5 * traffic) < taken(1e-3 * traffic));
}

TEST("a command that sends lasts as long as its sending, which its other rows hide") {
  auto taken = [](double push) {
    model::Options o = described();
    o.machine.push_s = push;
    return runs::per_iteration(o, pcg, middle).time;
  };
  double vectors = programs::pcg_bytes(shape, rows) / described().machine.memory_bandwidth - product;  // of all commands
  CHECK_NEAR(taken(0.01 * us), taken(0), tiny);
  CHECK_NEAR(taken(60 * us) - taken(50 * us), 10 * us, tiny);
  CHECK(taken(50 * us) - taken(0) > 50 * us - vectors);
  CHECK(taken(50 * us) - taken(0) < 50 * us);
}

TEST("a reduction on one rank costs nothing") {
  model::Options o = described();
  o.ranks = 1;
  auto it = runs::per_iteration(o, pcg, 0);
  CHECK_NEAR(it.exposed_reduction + it.hidden_reduction, 0, tiny);
  CHECK_NEAR(it.time, programs::pcg_bytes(shape, shape.rows()) / o.machine.memory_bandwidth, tiny);
}

TEST("starting a reduction takes a device's own time, which nothing hides") {
  for (int count : {1, ranks}) {
    model::Options o = described();
    o.ranks = count;
    auto without = runs::per_iteration(o, pipelined, 0);
    o.machine.reduction_start_s = 1.5 * us;
    auto it = runs::per_iteration(o, pipelined, 0);
    CHECK_NEAR(it.time, without.time + 1.5 * us, tiny);
    CHECK_NEAR(it.exposed_reduction, without.exposed_reduction, tiny);
    CHECK_NEAR(it.imbalance, 0, tiny);
  }
}

// The halo leaves when a slab's edge lines are done. What remains of that command, and the interior of the next, can hide it.
TEST("a halo is hidden behind interior rows, and exposed where there are none") {
  model::Options o = described();
  o.machine.link_latency_s = 3 * us;
  double traffic = programs::pcg_bytes(shape, rows) / o.machine.memory_bandwidth;
  auto hidden = runs::per_iteration(o, pcg, middle);
  CHECK_NEAR(hidden.exposed_halo, 0, tiny);
  CHECK_NEAR(hidden.time, traffic + 2 * reduction, tiny);

  Shape bare = shape;
  bare.all_need_ghosts = true;
  auto exposed = runs::per_iteration(o, [&](Rank& s, int max) { return programs::pcg(s, bare, 0, max); }, middle);
  double behind_the_put = 24.0 * double(rows - 2 * shape.nx) / o.machine.memory_bandwidth;
  CHECK_NEAR(exposed.exposed_halo, 3 * us - behind_the_put, tiny);
  CHECK_NEAR(exposed.time, traffic + 2 * reduction + 3 * us - behind_the_put, tiny);
}

TEST("messages between nodes take the network's time") {
  model::Options o = described();
  Shape bare = shape;
  bare.all_need_ghosts = true;
  auto exposed = [&](int ranks_per_node) {
    o.machine.ranks_per_node = ranks_per_node;
    return runs::per_iteration(o, [&](Rank& s, int max) { return programs::pcg(s, bare, 0, max); }, middle).exposed_halo;
  };
  o.machine.internode_latency_s = 9 * us;
  o.machine.internode_bandwidth = 1e12;
  CHECK_NEAR(exposed(4), 0, tiny);
  CHECK_NEAR(exposed(2) - exposed(1), 0, tiny);  // the slowest neighbour counts
  CHECK(exposed(2) > 7 * us);
}

// Ranks 0 and 1 own one block, rank 2 two: they wait for it, and the network is not to blame.
TEST("skew is booked as imbalance, not as exposed") {
  model::Options o = described();
  o.ranks = 3;
  Shape uneven = shape;
  uneven.blocks = 4;
  uneven.lines = 12;
  for (bool classic : {true, false}) {
    NOTE("classic = ", classic);
    auto program = [&](Rank& s, int max) {
      return classic ? programs::pcg(s, uneven, 0, max) : programs::pipelined(s, uneven, 0, max);
    };
    auto quick = runs::per_iteration(o, program, 0), slow = runs::per_iteration(o, program, 2);
    i64 block = i64(uneven.nx) * uneven.lines;
    double traffic =
        (classic ? programs::pcg_bytes(uneven, block) : programs::pipelined_bytes(uneven, block)) / o.machine.memory_bandwidth;
    double exposed = classic ? 2 * reduction : 0;
    CHECK_NEAR(slow.exposed_reduction, exposed, tiny);
    CHECK_NEAR(quick.exposed_reduction, exposed, tiny);
    CHECK_NEAR(slow.imbalance, 0, tiny);
    CHECK_NEAR(quick.imbalance, traffic, tiny);
    CHECK_NEAR(slow.time, 2 * traffic + exposed, tiny);
    CHECK_NEAR(quick.time, slow.time, tiny);
  }
}

TEST("exposed and hidden time of reductions add up to their latency, with noise too") {
  model::Options o = described();
  o.machine.jitter_s = 1 * us;
  auto it = runs::per_iteration(o, pcg, middle);
  CHECK(it.exposed_reduction + it.hidden_reduction > 2 * reduction);
  CHECK(it.exposed_reduction + it.hidden_reduction < 2 * (reduction + 1 * us));
  CHECK(it.imbalance > 0);  // launches are noisy, too
}

TEST("the same seed gives the same times") {
  model::Options o = described();
  o.machine.jitter_s = 1 * us;
  for (u64 seed : {0, 3}) {
    o.seed = seed;
    auto time = [&] { return runs::on_model(o, [](Rank& s) { return pcg(s, 20); }).ledgers[2].time; };
    CHECK(time() == time());
  }
}
