// The library's own methods on a described machine: what each exposes an iteration, how long it takes, and that no order of
// events changes a bit.
#include "check.hpp"
#include "described.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/solvers/driver.hpp"

using namespace described;

namespace {

std::vector<double> right_hand_side() {
  std::vector<double> b;
  for (i64 i = 0; i < matrix().n; i++) b.push_back(1 + double(i * 7919 % 101) / 101);
  return b;
}

constexpr int steps = 4;  // that cbcg takes at once; those of a run are a multiple
static_assert(runs::few % steps == 0 && runs::many % steps == 0);

/// Solves on one rank of an engine; x of the whole into `x`.
SolveOutcome solve(Rank& s, const std::string& name, const SolveControl& control, std::vector<double>* x = nullptr) {
  static const std::vector<double> b = right_hand_side();
  const MethodEntry& m = method(name);
  CsrView A = matrix().view();
  Partition partition = balance(A, s.size());
  auto op = m.replicated ? CsrOperator::gathered(s, A, partition) : std::make_unique<CsrOperator>(s, A, partition);
  Jacobi M(s, A, op->space());
  Driver driver(s, *op, M, m, 1 << 20, 1 << 20, {}, {}, {.s = steps});
  i64 row = driver.space().first_row;
  SolveOutcome out = driver.solve(b.data() + row, nullptr, control);
  if (x) driver.read_solution(x->data() + row);
  return out;
}

struct Solved {
  SolveOutcome outcome;
  std::vector<Ledger> ledgers;
  std::vector<double> x;
};

Solved solve_on(Engine& engine, const std::string& name, const SolveControl& control = {.rtol = 1e-8}) {
  Solved out;
  out.x.resize(std::size_t(matrix().n));
  engine.run(
      [&](Rank& s) {
        SolveOutcome o = solve(s, name, control, method(name).replicated && s.id() > 0 ? nullptr : &out.x);
        if (s.id() == 0) out.outcome = o;
      },
      {});
  for (int r = 0; r < engine.size(); r++) out.ledgers.push_back(engine.rank(r).ledger);
  return out;
}

Solved solve_on_host(int ranks, const std::string& name) {
  host::HostEngine engine({.ranks = ranks, .timeout = 20});
  return solve_on(engine, name);
}

/// An iteration on the rank that has the most to do, so that it waits for nobody.
runs::Iteration iteration(const std::string& name, const model::Options& o, const runs::Mutation& mutate = {}) {
  auto program = [&](Rank& s, int max) {
    solve(s, name, {.rtol = 1e-300, .max_iterations = max});
    return Outcome{};
  };
  return runs::per_iteration(o, program, 1, mutate);
}

/// Its declared traffic, in seconds.
double traffic(const std::string& name, const model::Options& o) {
  auto bytes = [&](int max) {
    model::ModelEngine engine(o);
    return solve_on(engine, name, {.rtol = 1e-300, .max_iterations = max}).ledgers[1].memory_bytes;
  };
  return (bytes(runs::many) - bytes(runs::few)) / (runs::many - runs::few) / o.machine.memory_bandwidth;
}

struct Promise {
  const char* method;
  double exposed, hidden;  // reductions an iteration
  int moved = 0;           // hidden ones whose finish the mutation moves
  double reduction = 6 * us;
};
constexpr double behind_a_vector = 1 * us;  // an update of a vector takes longer, and hides it
constexpr Promise promises[] = {
    {"cg", 2, 0},
    {"fcg", 2, 0},
    {"richardson", 1, 0},
    {"prcg", 0, 1, 1},
    {"cgcg", 1, 0},
    {"bicgstab", 3, 0},
    {"pipebicgstab", 0, 2, 1},
    {"gmres", 1, 0},
    {"gropp", 0, 2, 2, behind_a_vector},
    {"cbcg", 2.0 / steps, 0},
    {"pcg1", 3, 0},
    {"pcg2", 3, 0},
    {"pcg-overlap", 0, 3, 3, behind_a_vector},
};

bool keeps(const Promise& p, const runs::Iteration& it, double traffic) {
  return std::abs(it.exposed_reduction - p.exposed * p.reduction) < tiny &&
         std::abs(it.hidden_reduction - p.hidden * p.reduction) < tiny &&
         std::abs(it.time - (traffic + p.exposed * p.reduction + it.imbalance)) < tiny && it.imbalance < 0.02 * it.time;
}

}  // namespace

TEST("methods expose the reductions they say, and take their traffic's time and no more") {
  for (auto& p : promises) {
    NOTE(p.method);
    model::Options o = machine(p.reduction);
    auto it = iteration(p.method, o);
    CHECK_NEAR(it.exposed_reduction, p.exposed * p.reduction, tiny);
    CHECK_NEAR(it.hidden_reduction, p.hidden * p.reduction, tiny);
    CHECK_NEAR(it.exposed_halo, 0, tiny);
    CHECK(keeps(p, it, traffic(p.method, o)));
  }
}

TEST("a finish that moves to its start breaks the promise of every method that hides a reduction") {
  for (auto& p : promises) {
    if (p.hidden == 0) continue;
    NOTE(p.method);
    model::Options o = machine(p.reduction);
    auto it = iteration(p.method, o), mutated = iteration(p.method, o, runs::finish_at_once);
    CHECK(!keeps(p, mutated, traffic(p.method, o)));
    CHECK_NEAR(mutated.exposed_reduction, p.moved * p.reduction, tiny);
    CHECK_NEAR(mutated.time - it.time, p.moved * p.reduction, 0.1 * us);
  }
}

TEST("PCG-Overlap is faster than PCG-Algorithm2 by what it hides, and no more where a reduction takes longer than a line") {
  for (double reduction : {0.5 * us, 1 * us, 20 * us}) {
    NOTE("reduction = ", reduction);
    model::Options o = machine(reduction);
    auto waits = iteration("pcg2", o), overlaps = iteration("pcg-overlap", o);
    CHECK_NEAR(waits.time - overlaps.time, overlaps.hidden_reduction, 0.1 * us);
    CHECK_NEAR(waits.exposed_reduction, 3 * reduction, tiny);
    CHECK_NEAR(overlaps.exposed_reduction + overlaps.hidden_reduction, 3 * reduction, tiny);
    if (reduction > 10 * us)
      CHECK(overlaps.exposed_reduction > 0.5 * waits.exposed_reduction);
    else
      CHECK_NEAR(overlaps.exposed_reduction, 0, tiny);
  }
}

TEST("paces and interruptions that are none leave the clock as it is, to the last bit") {
  model::Options o = machine(6 * us);
  double plain = iteration("pcg-overlap", o).time;
  o.machine.paces = {{"Scaled", {}}, {"SpMV", {.bandwidth = o.machine.memory_bandwidth}}};
  o.machine.draws = 7;
  CHECK(iteration("pcg-overlap", o).time == plain);
}

TEST("late ranks are late at the same times on every run, and at others with another number") {
  model::Options o = machine(1 * us);
  o.machine.paces = {{"SpMV", {.spread = 0.2}}};
  o.machine.interruptions = {.hz = 5000, .seconds = 10 * us};
  double first = iteration("pcg2", o).time;
  CHECK(iteration("pcg2", o).time == first);
  o.machine.draws = 1;
  CHECK(iteration("pcg2", o).time != first);
}

TEST("who is late before one sum and not before the next is waited for less where sums are behind work") {
  model::Options o = machine(0.1 * us);
  double waits = iteration("pcg2", o).time, overlaps = iteration("pcg-overlap", o).time;
  auto lost = [&](const char* name, double quiet) { return iteration(name, o).time / quiet - 1; };
  o.machine.interruptions = {.hz = 100e3, .seconds = 2 * us};
  CHECK(lost("pcg2", waits) > 0.25);  // a fifth of the time is gone, and ranks wait for each other
  CHECK(lost("pcg-overlap", overlaps) > 0.25);
  CHECK(lost("pcg-overlap", overlaps) < lost("pcg2", waits) - 0.03);
  o.machine.interruptions = {};
  o.machine.paces = {{"Scaled", {.spread = 0.5}}};
  CHECK(lost("pcg2", waits) > 0.03);
  CHECK(lost("pcg-overlap", overlaps) < 0.7 * lost("pcg2", waits));
}

TEST("which method is faster depends on the machine") {
  auto faster = [](const char* a, const char* b, double reduction) {
    model::Options o = machine(reduction);
    return iteration(a, o).time < iteration(b, o).time;
  };
  CHECK(faster("cg", "prcg", 1 * us));  // nothing to hide: the extra traffic is all there is
  CHECK(faster("prcg", "cg", 100 * us));
  CHECK(faster("bicgstab", "pipebicgstab", 1 * us));
  CHECK(faster("pipebicgstab", "bicgstab", 100 * us));
}

TEST("a command that sends rows adds up its sums when these have left") {
  auto time = [](const char* name, double push, double start) {
    model::Options o = machine(0);
    o.machine.push_s = push, o.machine.reduction_start_s = start;
    return iteration(name, o).time;
  };
  const double push = 50 * us, start = 3 * us;  // longer than any command's rows
  for (const char* name : {"prcg", "cgcg"})     // which sends and starts its sums in one command, and in two
    CHECK_NEAR(time(name, push, start) - time(name, push, 0), start, tiny);
  CHECK_NEAR(time("gropp", push, start) - time("gropp", push, 0), 2 * start, tiny);
}

TEST("replicated BiCGStab reduces nothing, and hides its gathers behind vector operations") {
  model::Options o = machine(6 * us);
  auto it = iteration("gatherbicgstab", o);
  CHECK_NEAR(it.exposed_reduction + it.hidden_reduction, 0, tiny);
  CHECK_NEAR(it.exposed_halo, 0, tiny);
  o.machine.link_latency_s = 100 * us;
  CHECK(iteration("gatherbicgstab", o).exposed_halo > 50 * us);
}

TEST("every method gives the host's bits on 1 to 4 ranks, in 20 adversarial orders") {
  for (auto& m : methods()) {
    Solved reference = solve_on_host(1, m.name);
    const bool too_slow = m.name == "richardson";  // by Jacobi, on this matrix: as many iterations as it may
    REQUIRE(reference.outcome.status == (too_slow ? Status::max_iterations : Status::converged));
    for (int ranks = 1; ranks <= 4; ranks++) {
      NOTE(m.name, ", ranks = ", ranks);
      Solved host = solve_on_host(ranks, m.name);
      CHECK(runs::same_bits(host.outcome.history, reference.outcome.history));
      for (u64 seed = 0; seed <= 20; seed++) {
        NOTE("seed = ", seed);
        model::Options o;
        o.ranks = ranks;
        o.seed = seed;
        o.machine.jitter_s = seed ? 5 * us : 0;
        model::ModelEngine engine(o);
        Solved model = solve_on(engine, m.name);
        CHECK(runs::same_bits(model.outcome.history, reference.outcome.history));
        CHECK(runs::same_bits(model.x, reference.x));
        for (std::size_t r = 0; r < std::size_t(ranks); r++) CHECK(model.ledgers[r].same_counts(host.ledgers[r]));
      }
    }
  }
}
