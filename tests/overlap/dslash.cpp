// The dslash on a described machine: the neighbours' half spinors travel while interior sites are computed (002, section V.D).
#include "check.hpp"
#include "runs.hpp"
#include "sordino/lattice/wilson.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/solvers/driver.hpp"

namespace {

using namespace sordino;
using namespace sordino::lattice;

constexpr double us = 1e-6, tiny = 1e-12;
constexpr double hop_time = 10 * us;
constexpr int ranks = 4, middle = 1;

/// A chain of hops, two an iteration: each needs the faces of the one before.
Outcome hops(Rank& s, const Lattice& lattice, const Coords& grid, int max) {
  Box box(lattice, grid, s.id());
  auto links = std::make_shared<LinkField>(s, box, unit_links(), Precision::double_precision, 12);
  Dslash d(s, box, links, 2);
  Vec x = d.field(s, "x"), y = d.field(s, "y");
  auto loop = s.loop({}, [&] {
    d.apply(s, {.x = x, .y = y}, 1);
    d.apply(s, {.x = y, .y = x}, 1);
  });
  return s.replay(loop, max);
}

/// What the command of a hop declares, and the shares of its time in which it computes what it sends, and interior sites.
struct Declared {
  double bytes, sending, interior;
};
Declared declared(const Lattice& lattice, const Coords& grid) {
  Box box(lattice, grid, 0);
  CutBox cut = cut_box(box, 2);
  using Links = LinkView<double, 12>;
  i64 inside = 0;
  for (int parity : {0, 1})
    for (auto& r : box.parts(parity).interior) inside += r.size();
  lattice::Hop<Links> hop{cut, {}, 1, {}, {}, {}, {}, {}, {}};
  double sending = hop.sending_cost().bytes / hop.cost().bytes;
  return {hop.cost().bytes, sending, (1 - sending) * double(inside) / double(cut.field_sites())};
}

/// A machine on which a rank's Dslash command takes 10 us, and nothing else but messages costs anything.
model::Options described(const Declared& d, double latency) {
  model::Options o;
  o.ranks = ranks;
  o.arithmetic = false;
  o.machine.launch_s = o.machine.put_overhead_s = 0;
  o.machine.memory_bandwidth = d.bytes / hop_time;
  o.machine.link_latency_s = latency;
  o.machine.link_bandwidth = 1e18;
  return o;
}

struct Cut {
  Lattice lattice;
  Coords grid;
};
const Cut cuts[] = {{{{8, 8, 8, 32}}, {1, 1, 1, 4}}, {{{8, 8, 16, 16}}, {1, 1, 2, 2}}};

}  // namespace

TEST("the halo of the dslash is hidden behind its interior, and a hop takes no longer than its command") {
  for (auto& [lattice, grid] : cuts) {
    NOTE(to_string(lattice.extent), " on ", to_string(grid));
    Declared d = declared(lattice, grid);
    const double latency = 0.9 * d.interior * hop_time;
    auto program = [&](Rank& s, int max) { return hops(s, lattice, grid, max); };
    auto it = runs::per_iteration(described(d, latency), program, middle);
    CHECK_NEAR(it.exposed_halo, 0, tiny);
    CHECK_NEAR(it.imbalance, 0, tiny);
    CHECK_NEAR(it.time, 2 * hop_time, tiny);

    auto mutated = runs::per_iteration(described(d, latency), program, middle, runs::await_at_once);
    CHECK_NEAR(mutated.exposed_halo, 2 * latency, tiny);
    CHECK_NEAR(mutated.time, 2 * (hop_time + latency), tiny);
  }
}

TEST("what the interior is too short to hide is exposed") {
  for (auto& [lattice, grid] : cuts) {
    NOTE(to_string(lattice.extent), " on ", to_string(grid));
    Declared d = declared(lattice, grid);
    const double late = 3 * us, latency = d.interior * hop_time + late;
    auto it = runs::per_iteration(described(d, latency), [&](Rank& s, int max) { return hops(s, lattice, grid, max); }, middle);
    CHECK_NEAR(it.exposed_halo, 2 * late, tiny);
    CHECK_NEAR(it.time, 2 * (hop_time + late), tiny);
  }
}

TEST("boxes without interior sites expose the whole journey") {
  Lattice lattice{{8, 8, 8, 8}};
  Coords grid{1, 1, 1, 4};  // two time slices each
  Declared d = declared(lattice, grid);
  CHECK(d.interior == 0);
  auto it = runs::per_iteration(described(d, 4 * us), [&](Rank& s, int max) { return hops(s, lattice, grid, max); }, middle);
  CHECK_NEAR(it.exposed_halo, 2 * 4 * us, tiny);
}

TEST("a wider link hides what a narrow one exposes") {
  auto& [lattice, grid] = cuts[0];
  Declared d = declared(lattice, grid);
  model::Options o = described(d, 0);
  const double interior = d.interior * hop_time,
               bytes = 2 * 8 * 8 * 8 * 96;  // two faces, one after the other; rank 2 gets its neighbours' last
  auto exposed = [&](double seconds) {
    o.machine.link_bandwidth = bytes / seconds;
    return runs::per_iteration(o, [&](Rank& s, int max) { return hops(s, lattice, grid, max); }, 2).exposed_halo;
  };
  CHECK_NEAR(exposed(0.9 * interior), 0, tiny);
  CHECK_NEAR(exposed(interior + 1 * us), 2 * us, tiny);
}

// A reduction ends in the command that follows the product which hides it.
TEST("pipelined BiCGStab hides its reductions and its halos behind the dslash, and BiCGStab exposes three") {
  Lattice lattice{{4, 4, 4, 32}};
  Coords grid{1, 1, 1, 4};
  const double reduction = 6 * us;
  Declared d = declared(lattice, grid);
  model::Options o = described(d, 1 * us);
  o.arithmetic = true;
  o.machine.reduction_base_s = reduction;
  auto iteration = [&](const char* name, const runs::Mutation& mutate = {}) {
    auto program = [&](Rank& s, int max) {
      Box box(lattice, grid, s.id());
      auto links = std::make_shared<LinkField>(s, box, random_links(lattice, 1), Precision::double_precision, 12);
      WilsonOperator M(s, box, links, 0.12);
      Driver driver(s, M, Identity(), method(name), 1 << 20, 1 << 20);
      driver.solve(M.dslash().pack(s, random_source(lattice, 1)).data(), nullptr, {.rtol = 1e-300, .max_iterations = max});
      return Outcome{};
    };
    return runs::per_iteration(o, program, middle, mutate);
  };
  auto classic = iteration("bicgstab"), pipelined = iteration("pipebicgstab");
  CHECK_NEAR(classic.exposed_reduction, 3 * reduction, 10 * tiny);
  CHECK_NEAR(classic.exposed_halo, 0, tiny);
  CHECK_NEAR(pipelined.exposed_reduction, 0, 10 * tiny);
  CHECK_NEAR(pipelined.hidden_reduction, 2 * reduction, 10 * tiny);
  CHECK_NEAR(pipelined.exposed_halo, 0, tiny);

  auto mutated = iteration("pipebicgstab", runs::finish_at_once);
  CHECK(mutated.exposed_reduction > 0.9 * reduction);
  CHECK(mutated.time > pipelined.time + 0.9 * reduction);
}

TEST("a hop of a thousand ranks needs no arithmetic to be timed") {
  Lattice lattice{{32, 32, 32, 256}};
  Coords grid = choose_grid(lattice, 1024);
  model::Options o;
  o.ranks = 1024;
  o.arithmetic = false;
  auto run = runs::on_model(o, [&](Rank& s) { return hops(s, lattice, grid, 2); });
  CHECK(run.ledgers[5].messages > 0);
  CHECK(run.ledgers[5].time > 0);
}
