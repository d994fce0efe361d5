// What solver=auto takes for a symmetric positive definite matrix, and that its clock is the model engine's.
#include "sordino/api/method_choice.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/api/grid_choice.hpp"
#include "sordino/api/solver.hpp"
#include "sordino/linalg/poisson.hpp"

using namespace sordino;

namespace {

/// A machine where sums of all ranks take so long, and little else takes any time.
Machine slow_to_sum(double seconds) {
  Machine m;
  m.launch_s = 1e-7, m.memory_bandwidth = 1e11, m.reduction_base_s = seconds, m.reduction_start_s = 0;
  m.link_latency_s = 1e-6, m.put_overhead_s = 0;
  return m;
}

const CsrMatrix& box() {
  static const CsrMatrix A = poisson(12, 12, 48, 7, 1.0);
  return A;
}

Choice chosen(Options o, int ranks, const std::optional<Machine>& machine, const CsrMatrix& A = box()) {
  System system{.A = A.view()};
  Choice c = choose(system, o);
  c.storage = storage_of(system, o, c, ranks);
  settle_grid(c, system, o, ranks, false, machine);
  settle_method(c, system, o, ranks, machine);
  return c;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Seconds of an iteration on the model engine.
double modelled(const std::string& solver, const Machine& machine, int ranks, int s = 12) {
  auto seconds = [&](int iterations) {
    Options o;
    o.engine = "model", o.solver = solver, o.ranks = ranks, o.s = s, o.rtol = 1e-300, o.maxiter = iterations;
    Solver s(box().view(), o, machine);
    std::vector<double> b, x(std::size_t(box().n));
    for (i64 i = 0; i < box().n; i++) b.push_back(double(i * 7919 % 1001) - 500);
    return s.solve(b.data(), x.data()).seconds;
  };
  return (seconds(36) - seconds(12)) / 24;
}

}  // namespace

TEST("where sums take long, auto takes what waits for fewest of them, and says by how much") {
  Choice c = chosen({}, 8, slow_to_sum(1e-3));
  CHECK(c.method->name == "cbcg");
  NOTE(c.why_method);
  CHECK(has(c.why_method, "it takes 16") && has(c.why_method, "an iteration on 8 ranks of the described machine, and cg 2"));
  CHECK(has(c.why_method, "2 ms of them waiting for sums"));
}

TEST("auto does not take cbcg unless cg waits for sums more than half of its time") {
  Machine m = slow_to_sum(3e-6);  // beside 4 us of halos, launches and bytes
  m.link_latency_s = 6e-6;
  Choice c = chosen({}, 8, m);
  NOTE(c.why_method);
  CHECK(c.method->name == "prcg");
}

TEST("auto stays with cg where bytes are what takes the time, and names who came next") {
  Machine m = slow_to_sum(1e-7);
  m.memory_bandwidth = 1e9, m.link_latency_s = 1e-7;
  Choice c = chosen({}, 8, m);
  NOTE(c.why_method);
  CHECK(c.method->name == "cg");
  CHECK(has(c.why_method, ", the best of the others, "));
}

TEST("auto stays with cg where others may not go, whatever the machine says, and says why") {
  const Machine m = slow_to_sum(1e-3);
  auto stays = [&](const Options& o, int ranks, const std::optional<Machine>& machine, const char* why) {
    Choice c = chosen(o, ranks, machine);
    NOTE(c.why_method);
    CHECK(c.method->name == "cg");
    CHECK(has(c.why_method, why));
  };
  stays({}, 8, {}, "nobody has described this machine");
  Options fine, steady, tiles;
  fine.rtol = 1e-11, steady.deterministic = "on", tiles.precond = "block-ilu", tiles.grid = "12,12,48";
  stays(fine, 8, m, "rtol is below 1e-10");
  stays(steady, 8, m, "deterministic 'on'");
  stays(tiles, 8, m, "nobody knows what the preconditioner costs");
}

TEST("on one rank auto goes by launches, own sums and bytes") {
  Machine m = slow_to_sum(1);  // of which one rank has none
  m.launch_s = 1e-5;
  Choice c = chosen({}, 1, m);
  NOTE(c.why_method);
  CHECK(c.method->name == "cgcg");
  CHECK(has(c.why_method, " an iteration on 1 rank of the described machine, and cg ") && has(c.why_method, ", 0 us of them"));
  m.launch_s = 1e-8;
  CHECK(chosen({}, 1, m).method->name == "cg");
}

TEST("a method that hides has to be 10 % faster than what is taken else, and the reason says what it would take") {
  Machine m = slow_to_sum(1e-6);
  m.link_latency_s = 1e-8, m.launch_s = m.reduction_start_s = 1e-6, m.memory_bandwidth = 1e13;
  auto takes = [&](const char* solver) {
    Options o;
    o.solver = solver;
    return seconds_of(chosen(o, 8, m), {.A = box().view()}, o, 8, m).seconds;
  };
  int worth_it = 0, too_little = 0;
  for (m.reduction_base_s = 1e-6; m.reduction_base_s < 2e-6; m.reduction_base_s *= 1.02) {
    const double ratio = takes("prcg") / takes("cgcg");
    const Choice c = chosen({}, 8, m);
    NOTE(ratio, ": ", c.method->name, ", ", c.why_method);
    if (ratio < 0.89) {
      worth_it++;
      CHECK(c.method->name == "prcg");
    }
    if (ratio < 0.91 || ratio > 0.99) continue;
    too_little++;
    CHECK(c.method->name == "cgcg");
    CHECK(has(c.why_method, ", and prcg ") && has(c.why_method, ", which is too little less"));
  }
  CHECK(worth_it > 0);
  CHECK(too_little > 0);
}

TEST("auto takes only methods that know the preconditioner") {
  Options polynomial, scaled;
  polynomial.precond = "chebyshev", scaled.precond = "sqrt-jacobi";
  Machine m = slow_to_sum(2e-6);
  m.link_latency_s = 1e-5;
  CHECK(chosen({}, 8, m).method->name == "prcg");
  CHECK(chosen(polynomial, 8, m).method->any_preconditioner);
  CHECK(chosen(scaled, 8, m).method->scalable);
  CHECK(chosen(scaled, 8, slow_to_sum(1e-3)).method->name == "cbcg");
}

TEST("who asks for a method gets it, and a matrix that is not symmetric gets bicgstab, for that reason") {
  Options asked;
  asked.solver = "gropp";
  Choice c = chosen(asked, 8, slow_to_sum(1e-3));
  CHECK(c.method->name == "gropp");
  CHECK(c.why_method == "asked for");
  CsrMatrix skewed = poisson(4, 4, 4, 7, 1.0);
  skewed.values[1] *= 2;
  c = chosen({}, 8, slow_to_sum(1e-3), skewed);
  CHECK(c.method->name == "bicgstab");
  CHECK(c.why_method == "the matrix is not symmetric");
}

TEST("a machine on which nothing takes a finite time leaves it at cg") {
  Machine m = slow_to_sum(1e-3);
  m.launch_s = 1e308;
  Choice c = chosen({}, 8, m);
  CHECK(c.method->name == "cg");
  CHECK(c.why_method == "by the machine's description no method takes a finite time");
}

TEST("a walk through a recording takes as long as the model engine, to 5 %") {
  Machine slow = slow_to_sum(2e-5), several = slow_to_sum(1e-5), wide = slow_to_sum(1e-5), crowded = slow_to_sum(1e-6);
  slow.reduction_hop_s = 5e-6, slow.memory_bandwidth = 1e10, slow.reduction_start_s = 2e-6;
  several.ranks_per_node = 3, several.internode_latency_s = 4e-5, several.put_overhead_s = 1e-6;
  wide.link_bandwidth = 1e9, wide.flops = 1e11;
  crowded.late_blocks = {.rows = 800, .seconds = 2e-5};  // a rank has 864
  Machine device = slow_to_sum(2e-6);
  device.push_s = 3e-6, device.link_latency_s = 6e-6, device.reduction_start_s = 2e-6, device.memory_bandwidth = 2e10;
  device.cache = {.bytes = 1e5, .share = 0.5, .bandwidth = 6e10};  // seven vectors of a rank
  for (const Machine& m : {slow, several, wide, crowded, device})
    for (const char* solver : {"cg", "cgcg", "gropp", "prcg", "cbcg"}) {
      Options o;
      o.solver = solver;
      Choice c = chosen(o, 8, m);
      const double walked = seconds_of(c, {.A = box().view()}, o, 8, m).seconds, run = modelled(solver, m, 8);
      NOTE(solver, ": walked ", walked, " s, run ", run, " s");
      CHECK(std::abs(walked - run) < 0.05 * run);
    }
}

TEST("a solver on the model goes by its machine, solves with what it takes, and says why; estimates know of it") {
  Options o;
  o.engine = "model", o.ranks = 4, o.rtol = 1e-8;
  const Machine m = slow_to_sum(1e-3);
  Solver s(box().view(), o, m);
  CHECK(s.method() == "cbcg");
  CHECK(has(s.why_method(), "on 4 ranks of the described machine"));
  std::vector<double> b(std::size_t(box().n), 1.0), x(b.size());
  CHECK(s.solve(b.data(), x.data()).status == Status::converged);
  const System system{.A = box().view()};
  const i64 held = s.memory()[0], told = estimate_memory(system, o, 4, false, m)[0];
  CHECK(std::abs(double(told - held)) < 0.1 * double(held));
  CHECK(estimate_memory(system, o, 4, false)[0] < told / 2);  // of cg
}

namespace {

/// cbcg, with s to be chosen.
Options steps_open() {
  Options o;
  o.solver = "cbcg", o.s = std::nullopt;
  return o;
}

}  // namespace

TEST("the slower sums are, the more iterations s = auto has cbcg take at once, and it says what they take") {
  int before = 0;
  for (double seconds : {1e-8, 1e-6, 1e-3}) {
    Choice c = chosen(steps_open(), 8, slow_to_sum(seconds));
    NOTE(seconds, " s: s = ", c.steps, ", ", c.why_steps);
    CHECK(c.steps > before);
    before = c.steps;
    CHECK(has(c.why_steps, "an iteration takes ") && has(c.why_steps, " on 8 ranks of the described machine, and with s = "));
  }
  CHECK(before == 12);
}

TEST("the s that is taken is on the model engine at most 8 % slower than any that could have been") {
  Machine wide = slow_to_sum(1e-5), tight = slow_to_sum(1e-6);
  wide.memory_bandwidth = 1e12, tight.memory_bandwidth = 1e10, tight.launch_s = 1e-6;
  for (const Machine& m : {wide, tight, slow_to_sum(3e-6)}) {
    const int taken = chosen(steps_open(), 8, m).steps;
    const double of_taken = modelled("cbcg", m, 8, taken);
    for (int s : {1, 2, 3, 4, 6, 12}) {
      const double other = modelled("cbcg", m, 8, s);
      NOTE("s = ", taken, ": ", of_taken, " s, s = ", s, ": ", other, " s");
      CHECK(of_taken < 1.08 * other);
    }
  }
}

TEST("s = auto stays where directions are known to be independent, and within maxiter") {
  Options powers = steps_open(), few = steps_open();
  powers.basis = "monomial", few.maxiter = 5;
  CHECK(chosen(powers, 8, slow_to_sum(1e-3)).steps == 3);
  CHECK(chosen(few, 8, slow_to_sum(1e-3)).steps == 4);
  for (auto& [o, most] : {std::pair(steps_open(), 12), std::pair(powers, 3), std::pair(few, 5)}) {
    Choice c = chosen(o, 8, {});
    CHECK(c.steps == most);
    CHECK(c.why_steps == "nobody has described this machine");
  }
}

TEST("s = auto is small with cycles of multigrid, whatever the machine") {
  for (const char* precond : {"mg", "amg"}) {
    Options o = steps_open();
    o.precond = precond, o.grid = "12,12,48";
    for (const auto& machine : {std::optional<Machine>{}, std::optional(slow_to_sum(1e-3))}) {
      const Choice c = chosen(o, 2, machine);
      CHECK(c.steps == 4);
      CHECK(has(c.why_steps, "few iterations"));
    }
    o.s = 6;
    CHECK(chosen(o, 2, {}).steps == 6);
  }
}

TEST("s = auto goes by the machine whatever the operators are, and on one rank") {
  Options tiles = steps_open();
  tiles.precond = "block-ilu", tiles.grid = "12,12,48", tiles.tile = "4,4,4";
  CHECK(chosen(tiles, 8, slow_to_sum(1e-3)).steps == 12);
  CHECK(chosen(tiles, 8, slow_to_sum(1e-8)).steps < 12);
  const Choice alone = chosen(steps_open(), 1, slow_to_sum(1e-8));
  CHECK(has(alone.why_steps, " on 1 rank of the described machine"));
  auto nothing = [](const double*, double*) {};
  System function{.product = nothing};
  function.A.n = box().n;
  Options o = steps_open();
  Choice c = choose(function, o);
  settle_method(c, function, o, 8, slow_to_sum(1e-3));
  CHECK(c.steps == 12);
}

TEST("an s that is asked for is taken, and is of no matter to other methods") {
  Options asked = steps_open(), other = steps_open();
  asked.s = 7, other.solver = "cg";
  Choice c = chosen(asked, 8, slow_to_sum(1e-3));
  CHECK(c.steps == 7);
  CHECK(c.why_steps == "asked for");
  CHECK(chosen(other, 8, slow_to_sum(1e-3)).why_steps.empty());
}

TEST("where solver = auto takes cbcg, s = auto says how many steps at once, and a solver takes them") {
  Options o;
  o.engine = "model", o.ranks = 4, o.rtol = 1e-8, o.s = std::nullopt;
  Solver s(box().view(), o, slow_to_sum(1e-3));
  CHECK(s.method() == "cbcg");
  CHECK(s.steps() == 12);
  CHECK(has(s.why_steps(), "an iteration takes "));
  o.solver = "cbcg";
  Solver quick(box().view(), o, slow_to_sum(1e-8));
  CHECK(quick.steps() < 12);
  std::vector<double> b(std::size_t(box().n), 1.0), x(b.size());
  CHECK(quick.solve(b.data(), x.data()).status == Status::converged);
  const System system{.A = box().view()};
  const i64 held = quick.memory()[0], told = estimate_memory(system, o, 4, false, slow_to_sum(1e-8))[0];
  CHECK(std::abs(double(told - held)) < 0.1 * double(held));
}

TEST("a machine on which no s takes a finite time leaves the largest") {
  Machine m = slow_to_sum(1e-3);
  m.launch_s = 1e308;
  const Choice c = chosen(steps_open(), 8, m);
  CHECK(c.steps == 12);
  CHECK(c.why_steps == "by the machine's description no s takes a finite time");
}
