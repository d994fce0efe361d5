// Recorded sums by other ways than the engine's own, on the virtual clock: what each takes an iteration, how much of that a
// product hides, and which one a described machine calls the fastest.
#include "check.hpp"
#include "runs.hpp"
#include "sordino/comm/all_reduce_times.hpp"
#include "sordino/comm/recorded_sums.hpp"

namespace {

using namespace sordino;
using programs::Shape;

constexpr double us = 1e-6, tiny = 1e-12;
constexpr double product = 20 * us;
constexpr int ranks = 8, middle = 3;
const Shape shape{.blocks = ranks};
const i64 rows = shape.rows() / ranks;

/// The product takes 20 us; a message keeps its sender for 0.2 us and comes after 1 us, between nodes of four after 2 us.
model::Options described(double fraction_of_product = 1) {
  model::Options o;
  o.ranks = ranks;
  o.machine.launch_s = 0;
  o.machine.put_overhead_s = 0.2 * us;
  o.machine.memory_bandwidth = programs::operator_bytes(shape, rows) / (product * fraction_of_product);
  o.machine.reduction_base_s = 50 * us;
  o.machine.link_latency_s = 1 * us;
  o.machine.internode_latency_s = 2 * us;
  o.machine.link_bandwidth = o.machine.internode_bandwidth = 1e18;
  o.machine.ranks_per_node = 4;
  return o;
}

/// Of one rank and iteration; all reductions go this way.
runs::Iteration per_iteration(const model::Options& options, const AllReduceOptions& way,
                              const std::function<Outcome(Rank&, int)>& program, const runs::Mutation& mutate = {}) {
  auto ledger = [&](int max) {
    model::ModelEngine engine(options);
    sum_by(engine, way);
    return runs::run(engine, [&](Rank& s) { return program(s, max); }, mutate).ledgers[middle];
  };
  Ledger a = ledger(runs::few), b = ledger(runs::many);
  auto each = [&](double Ledger::* member) { return (b.*member - a.*member) / (runs::many - runs::few); };
  return {each(&Ledger::exposed_reduction), each(&Ledger::hidden_reduction), each(&Ledger::exposed_halo),
          each(&Ledger::imbalance), each(&Ledger::time)};
}

Outcome pcg(Rank& s, int max) { return programs::pcg(s, shape, 0, max); }
Outcome pipelined(Rank& s, int max) { return programs::pipelined(s, shape, 0, max); }

constexpr Algorithm ways[] = {Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level};

double latency(const model::Options& o, const AllReduceOptions& way) {
  return all_reduce_ends(way, costs_of_commands(o.machine), std::vector<double>(ranks, 0.0))[middle];
}

}  // namespace

TEST("a reduction exposes and hides what its messages take, by every way") {
  model::Options o = described();
  for (Algorithm a : ways) {
    NOTE(name(a));
    auto it = per_iteration(o, {.algorithm = a}, pcg);
    CHECK_NEAR(it.exposed_reduction + it.hidden_reduction, 2 * latency(o, {.algorithm = a}), tiny);
    CHECK(it.exposed_reduction > 0.9 * 2 * latency(o, {.algorithm = a}));
  }
}

TEST("pipelined CG hides it behind a longer product, by every way; finished at once it is exposed") {
  model::Options o = described();
  for (Algorithm a : ways) {
    AllReduceOptions way{.algorithm = a};
    NOTE(name(a), ", latency ", latency(o, way));
    auto it = per_iteration(o, way, pipelined);
    CHECK(it.exposed_reduction < tiny);
    CHECK_NEAR(it.hidden_reduction, latency(o, way), tiny);
    auto moved = per_iteration(o, way, pipelined, runs::finish_at_once);
    CHECK(moved.exposed_reduction > 0.5 * latency(o, way));
    CHECK(moved.time > it.time + 0.5 * latency(o, way));
  }
}

TEST("behind a product that is too short the shorter way exposes less") {
  model::Options o = described(0.05);
  double last = 1;
  for (AllReduceOptions way : {AllReduceOptions{.algorithm = Algorithm::tree}, {.algorithm = Algorithm::recursive_doubling}}) {
    double exposed = per_iteration(o, way, pipelined).exposed_reduction;
    NOTE(name(way.algorithm), " exposes ", exposed);
    CHECK(exposed > 1 * us);
    CHECK(exposed < last);
    last = exposed;
  }
}

TEST("the fastest way is the one whose iterations are the shortest") {
  model::Options o = described();
  for (double base : {1 * us, 50 * us}) {
    o.machine.reduction_base_s = base;
    model::ModelEngine engine(o);
    Algorithm fastest = sum_by(engine, {.algorithm = Algorithm::fastest}).algorithm;
    double best = per_iteration(o, {.algorithm = fastest}, pcg).time;
    NOTE(name(fastest));
    for (Algorithm a : {Algorithm::ordered, Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level})
      CHECK(best <= per_iteration(o, {.algorithm = a}, pcg).time + tiny);
    CHECK((fastest == Algorithm::ordered) == (base < 10 * us));
  }
}
