// Iterations on an H-matrix without arithmetic: what they book is what a solve books that computes, and whole vectors hide
// their gathers behind vector operations alone.
#include "sordino/api/modelled_hmatrix.hpp"

#include "check.hpp"
#include "runs.hpp"
#include "sordino/api/solver.hpp"
#include "sordino/base/error.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/hmatrix/leaf_ranks.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/solvers/driver.hpp"
#include "sordino/solvers/pipe1.hpp"
#include "unit/hmatrix/surfaces.hpp"

namespace {

using namespace sordino;

constexpr double us = 1e-6;
constexpr int ranks = 6;
const hmatrix::BuildOptions options{.compression = {.eps = 1e-4}};

const bem::Laplace& kernel() {
  static const auto sphere = surfaces::sphere(6, 10);
  static const bem::Laplace laplace(sphere.view());
  return laplace;
}

const hmatrix::HMatrix& outline() {
  static const hmatrix::HMatrix H = hmatrix::without_values(kernel(), options, hmatrix::leaf_ranks(kernel(), options, 1));
  return H;
}

Machine machine(double latency = 3 * us) {
  Machine m;
  m.memory_bandwidth = 100e9;
  m.link_latency_s = m.internode_latency_s = latency;
  m.ranks_per_node = 2;
  m.reduction_base_s = 8 * us;
  return m;
}

std::vector<Ledger> modelled(const char* name, const Machine& on, bool fallen_back = false, int iterations = 10) {
  return modelled_iterations(outline(), {.name = name, .fallen_back = fallen_back, .ranks = ranks, .machine = on}, iterations);
}

double iteration(const char* name, const Machine& on, bool fallen_back = false) {
  return modelled(name, on, fallen_back)[0].time / 10;
}

/// gatherbicgstab, whose gathers are waited for at once.
std::vector<Ledger> at_once(const Machine& on, int iterations = 10) {
  return modelled_iterations(outline(), {.name = "gatherbicgstab", .at_once = true, .ranks = ranks, .machine = on}, iterations);
}

/// What the ranks of a solve that computes book in so many iterations.
std::vector<Ledger> solved(const char* name, int iterations) {
  static const hmatrix::HMatrix H(kernel(), options);
  auto program = [&](Rank& s) {
    hmatrix::HMatrixOperator A(s, H, hmatrix::balance(H, ranks));
    Identity M;
    Driver driver(s, A, M, method(name), 1 << 20, 1 << 20);
    std::vector<double> b;
    for (i64 i = 0; i < driver.space().rows; i++) b.push_back(double((i + 31 * s.id()) * 7919 % 101) / 101 - 0.5);
    driver.solve(b.data(), nullptr, {.rtol = 1e-300, .max_iterations = iterations});
    return Outcome{};
  };
  return runs::on_model({.machine = machine(), .ranks = ranks}, program).ledgers;
}

}  // namespace

TEST("an iteration without arithmetic books what one books that computes") {
  for (const char* name : {"bicgstab", "pipebicgstab"}) {
    NOTE(name);
    const auto skipped = modelled(name, machine(), false, 6), few = solved(name, 5), many = solved(name, 11);
    for (std::size_t r = 0; r < ranks; r++) {
      const Ledger real = difference(many[r], few[r]);
      NOTE("rank ", r);
      CHECK(skipped[r].same_counts(real));
      CHECK_NEAR(skipped[r].time, real.time, 1e-9);
      CHECK_NEAR(skipped[r].exposed_halo, real.exposed_halo, 1e-9);
      CHECK_NEAR(skipped[r].exposed_reduction, real.exposed_reduction, 1e-9);
    }
  }
}

TEST(
    "on whole vectors both products are gathered, nothing is reduced, and the pipelined way hides what vector operations "
    "take") {
  const Ledger block = modelled("gatherbicgstab", machine(), true)[0], hides = modelled("gatherbicgstab", machine())[0];
  for (const Ledger& l : {block, hides}) {
    CHECK(l.reductions == 0);
    CHECK(l.messages == 2 * (ranks - 1) * 10);
  }
  CHECK(block.kernels.contains("Gathered") && hides.kernels.contains("StepF"));
  // Too long to be hidden: then the pipelined way has as much less of it as the commands take between a product and its gather.
  const double late = 400 * us, more = 100 * us;
  CHECK_NEAR(iteration("gatherbicgstab", machine(late + more), true) - iteration("gatherbicgstab", machine(late), true),
             2 * more, 0.01 * us);
  const double exposed = modelled("gatherbicgstab", machine(late), true)[0].exposed_halo / 10,
               left = modelled("gatherbicgstab", machine(late))[0].exposed_halo / 10;
  const double n = double(outline().size()), behind = (48 + 40) * n / machine().memory_bandwidth;
  CHECK_NEAR(exposed - left, behind, 2 * us);
}

TEST("recurrences that could hide a gather lose what they cost where it is waited for at once") {
  Machine on = machine(400 * us);
  on.memory_bandwidth = 1e9;  // vector operations take a tenth of the gathers, and can be told from a launch
  const Ledger pipe1 = at_once(on)[0], pipe2 = modelled("gatherbicgstab", on)[0],
               block = modelled("gatherbicgstab", on, true)[0];
  CHECK(pipe1.messages == pipe2.messages);
  CHECK(pipe1.reductions == 0);
  // Nothing of either gather is hidden, as in the paper's Fig. 2(a); by pipe2 what its commands take between product and end.
  const double hidden = (48 + 40) * double(outline().size()) / on.memory_bandwidth;
  CHECK(hidden > 100 * us);
  CHECK_NEAR(pipe1.exposed_halo / 10, block.exposed_halo / 10, 10 * us);
  CHECK_NEAR((pipe1.exposed_halo - pipe2.exposed_halo) / 10, hidden, 2 * us);
  CHECK_NEAR((pipe1.time - pipe2.time) / 10, hidden, 2 * us);
  CHECK(pipe1.time > block.time);  // more vector operations, and nothing for them
  // Where messages take no time there is nothing to hide.
  on.link_latency_s = on.internode_latency_s = on.put_overhead_s = 0;
  on.link_bandwidth = on.internode_bandwidth = 1e15;
  CHECK_NEAR(at_once(on)[0].time / 10, modelled("gatherbicgstab", on)[0].time / 10, 0.5 * us);
}

TEST("of solves that compute, too, pipe1 hides nothing of a gather, and finds the bits of pipe2") {
  static const hmatrix::HMatrix H(kernel(), options);
  Machine on = machine(400 * us);
  on.memory_bandwidth = 1e9;
  System system;
  system.hmatrix = &H;
  system.A.n = H.size();
  std::vector<double> b;
  for (i64 i = 0; i < H.size(); i++) b.push_back(double(i * 7919 % 101) / 101 - 0.5);
  auto solved = [&](const char* schedule) {
    Options o;
    o.engine = "model", o.solver = "gatherbicgstab", o.schedule = schedule, o.precond = "none", o.ranks = ranks, o.rtol = 1e-6;
    std::vector<double> x(b.size());
    const Report r = Solver(system, o, on).solve(b.data(), x.data());
    CHECK(r.status == Status::converged);
    return std::pair{x, r};
  };
  const auto [hides, pipe2] = solved("pipe2");
  const auto [waits, pipe1] = solved("pipe1");
  CHECK(pipe2.history.size() > 5);
  CHECK(runs::same_bits(waits, hides));
  CHECK(runs::same_bits(pipe1.history, pipe2.history));
  CHECK(pipe1.ledger.messages == pipe2.ledger.messages);
  const double hidden = (48 + 40) * double(H.size()) / on.memory_bandwidth;
  CHECK_NEAR((pipe1.ledger.time - pipe2.ledger.time) / pipe2.iterations, hidden, 2 * us);
}

TEST(
    "gathers by groups hide as much behind vector operations as those from each to each, and nothing where they wait at once") {
  Machine on = machine(400 * us);
  on.memory_bandwidth = 1e9;
  on.link_latency_s = 3 * us;  // within a group
  auto by_groups = [&](bool at_once, bool fallen_back = false) {
    return modelled_iterations(
        outline(),
        {.name = "gatherbicgstab", .fallen_back = fallen_back, .at_once = at_once, .ranks = ranks, .machine = on, .group = 2},
        10)[0];
  };
  const Ledger pipe2 = by_groups(false), pipe1 = by_groups(true);
  constexpr int groups = ranks / 2;
  for (const Ledger& l : {pipe1, pipe2, by_groups(false, true)}) {
    CHECK(l.reductions == 0);
    CHECK(l.messages == 2 * ((groups - 1) + groups) * 10);  // to other groups, and the group's other rank
  }
  const double hidden = (48 + 40) * double(outline().size()) / on.memory_bandwidth;
  CHECK(hidden > 100 * us);
  CHECK_NEAR((pipe1.time - pipe2.time) / 10, hidden, 2 * us);
  // The journey between groups is the only long one: each product adds it once.
  const double before = pipe2.time / 10;
  on.internode_latency_s += 100 * us;
  CHECK_NEAR(by_groups(false).time / 10 - before, 2 * 100 * us, 0.1 * us);
}

TEST("where a node sends at a network's rate, groups of its ranks gather faster than each rank for itself") {
  Machine on = machine();
  on.internode_bandwidth = 50e6;
  auto seconds = [&](int group) {
    return modelled_iterations(outline(), {.name = "gatherbicgstab", .ranks = ranks, .machine = on, .group = group}, 10)[0]
        .time;
  };
  // Without vector operations: two slices of a rank go to other nodes instead of four.
  const double slice = 8 * double(outline().size()) / ranks / on.internode_bandwidth;
  CHECK(seconds(1) - seconds(2) > 0.8 * 10 * 2 * 2 * slice);
}

TEST("a solve that gathers by groups has the bits of one that gathers from each to each, on host and model") {
  static const hmatrix::HMatrix H(kernel(), options);
  auto history = [](Engine& engine, int group) {
    std::vector<double> told;
    engine.run([&](Rank& s) {
      const auto A = hmatrix::HMatrixOperator::gathered(s, H, hmatrix::balance(H, ranks), hmatrix::Distribution::rows, group);
      Identity M;
      Driver driver(s, *A, M, method("gatherbicgstab"), 1 << 20, 1 << 20);
      std::vector<double> b;
      for (i64 i = 0; i < driver.space().rows; i++) b.push_back(double(i * 7919 % 101) / 101 - 0.5);
      const SolveOutcome out = driver.solve(b.data(), nullptr, {.rtol = 1e-6, .max_iterations = 200});
      CHECK(out.status == Status::converged);
      if (s.id() == 0) told = out.history;
    });
    return told;
  };
  host::HostEngine each({.ranks = ranks, .timeout = 20});
  const auto reference = history(each, 1);
  CHECK(reference.size() > 5);
  for (int group : {2, 3}) {
    host::HostEngine on_host({.ranks = ranks, .timeout = 20});
    CHECK(runs::same_bits(history(on_host, group), reference));
    for (u64 seed : {0, 1, 2, 3}) {
      NOTE("groups of ", group, ", seed = ", seed);
      model::Options o{.machine = machine(), .ranks = ranks, .seed = seed};
      o.machine.jitter_s = 5e-6;
      model::ModelEngine on_model(o);
      CHECK(runs::same_bits(history(on_model, group), reference));
    }
  }
}

TEST("groups that share vector operations save what they divide, and send to nobody outside for it") {
  const auto sphere = surfaces::sphere(10, 24);  // many rows beside the blocks that sums are taken by
  const bem::Laplace laplace(sphere.view());
  const hmatrix::HMatrix H = hmatrix::without_values(laplace, options, hmatrix::leaf_ranks(laplace, options, 16));
  Machine on = machine();
  on.memory_bandwidth = 1e9;
  auto with = [&](WholeVectors vectors) {
    return modelled_iterations(H, {.name = "bicgstab", .ranks = ranks, .machine = on, .group = 2, .vectors = vectors}, 10)[0];
  };
  const Ledger all = with(WholeVectors::redundant), shared = with(WholeVectors::hierarchical);
  CHECK(all.reductions == 0);
  CHECK(shared.reductions == 0);
  CHECK(shared.messages == all.messages + 3 * 10);  // the sums of three exchanges, to the group's other rank
  CHECK(!all.kernels.contains("Part of x"));
  // Of x, p and s half the rows, and of each dot product; s - zeta t and the other steps are everybody's.
  const double n = double(H.size());
  CHECK(all.memory_bytes - shared.memory_bytes > 25 * n * 10);
  CHECK(shared.flops < all.flops);
  const double saved = (all.memory_bytes - shared.memory_bytes) / on.memory_bandwidth / 10;
  const double price = 6 * on.launch_s + 3 * (on.link_latency_s + on.put_overhead_s);
  CHECK_NEAR((all.time - shared.time) / 10, saved - price, 0.15 * saved);
}

TEST("methods, ways and iterations that there are not are named") {
  CHECK_THROWS(modelled("bicg", machine()), Error, "bicg");
  CHECK_THROWS(modelled("bicgstab", machine(), true), Error, "solver bicgstab has no other way");
  CHECK_THROWS(modelled("bicgstab", machine(), false, 0), Error, "iterations are at least 1, not 0");
  CHECK_THROWS(modelled_iterations(outline(), {.name = "bicgstab", .at_once = true, .machine = machine()}, 1), Error,
               "solver bicgstab has no gathers that hide behind anything");
  CHECK_THROWS(modelled_iterations(outline(), {.name = "bicgstab", .ranks = 4, .machine = machine(), .group = 2}, 1), Error,
               "solver bicgstab gathers no whole vectors");
  CHECK_THROWS(modelled_iterations(outline(), {.name = "gmres", .machine = machine(), .vectors = WholeVectors::redundant}, 1),
               Error, "solver gmres has no way of its own with whole vectors");
  CHECK_THROWS(modelled_iterations(outline(), {.name = "gatherbicgstab", .ranks = 4, .machine = machine(), .group = 3}, 1),
               Error, "4 ranks cannot be groups of 3");
  CHECK_THROWS(modelled_iterations(outline(), {.name = "bicgstab", .ranks = 1 << 20, .machine = machine()}, 1), Error, "rank");
}
