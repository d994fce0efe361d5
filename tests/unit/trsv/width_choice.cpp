// The width of blocks by prediction: the last one that saves 5 % of what the one taken before it takes.
#include "sordino/trsv/width_choice.hpp"

#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "sordino/api/triangular.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

/// Whose hops or bytes decide.
Machine machine(double step, double bandwidth) {
  Machine m;
  m.put_overhead_s = 0;
  m.link_bandwidth = 1e12;
  m.ranks_per_node = 4;
  m.triangular = {.workers = 64,
                  .bandwidth = bandwidth,
                  .worker_bandwidth = bandwidth,
                  .step_s = step,
                  .round_s = 0,
                  .small_block_s = 0,
                  .small_block_back_s = 0,
                  .flag_s = step / 4,
                  .message_s = step,
                  .column = 0.5,
                  .backward = 1};
  return m;
}

Supernodes nodes_of(i32 side) {
  return find_supernodes(triangles::with_fill(triangles::nested_grid(side, side, side)).pattern());
}

i32 widest(const Supernodes& nodes) {
  i32 most = 0;
  for (i32 s = 0; s < nodes.count(); s++) most = std::max(most, nodes.width(s));
  return most;
}

TEST("wide blocks are chosen where hops decide, narrow ones where bytes do") {
  const Supernodes nodes = nodes_of(16);
  REQUIRE(widest(nodes) > 128);
  CHECK(choose_width(nodes, 8, machine(1e-3, 1e15)).width() == 256);
  const WidthChoice bytes = choose_width(nodes, 8, machine(1e-12, 1e6));
  CHECK(bytes.width() <= 64);  // what is on its way makes hops of the narrowest ones long
  CHECK(bytes.predicted.size() == 4);
}

TEST("the choice is the last width that saves 5 % of what the one before it takes, of both ways' predictions") {
  const Supernodes nodes = nodes_of(14);
  int kept = 0;
  for (double step = 1e-9; step < 1e-3; step *= 2) {
    const Machine m = machine(step, 1e11);
    for (const int ranks : {1, 3}) {
      const PlanOptions options{.ranks = ranks};
      const WidthChoice choice = choose_width(nodes, 8, m, options);
      std::size_t best = 0;
      for (std::size_t k = 0; k < choice.predicted.size(); k++) {
        const Blocks blocks = cut(nodes, choice.predicted[k].width);
        double seconds = 0;
        for (const Direction way : {Direction::forward, Direction::backward})
          seconds += model_solve(blocks, make_plan(blocks, way, 8, options), 8, model_options(m, way)).seconds;
        CHECK(choice.predicted[k].seconds == seconds);
        if (seconds <= 0.95 * choice.predicted[best].seconds) best = k;
      }
      CHECK(choice.best == best);
      kept += best + 1 < choice.predicted.size();
    }
  }
  NOTE(kept);
  CHECK(kept > 0);
}

TEST("widths that cut nothing are not compared, nor those of fewer blocks than ranks") {
  const Supernodes narrow = nodes_of(4);
  REQUIRE(widest(narrow) <= 32);
  const WidthChoice one = choose_width(narrow, 8, machine(1e-6, 1e9));
  CHECK(one.predicted.size() == 1);
  CHECK(one.said() == "width 32: no supernode is wider");
  const Supernodes some = nodes_of(6);  // its root has 36 columns
  REQUIRE(widest(some) > 32);
  const WidthChoice few = choose_width(some, 8, machine(1e-3, 1e15));
  CHECK(few.predicted.back().width >= widest(some));
  CHECK(few.predicted[few.predicted.size() - 2].width < widest(some));
  const i32 most = cut(some, few.predicted[1].width).count();
  REQUIRE(most < most_ranks);
  const WidthChoice alone = choose_width(some, 8, machine(1e-3, 1e15), {.ranks = most + 1});
  CHECK(alone.predicted.size() == 1);
  CHECK(alone.said() == "width 32: wider ones have fewer blocks than there are ranks");
}

TEST("wider ones that were left out for want of blocks are told beside those that were compared") {
  std::vector<std::vector<i32>> below(200, std::vector<i32>{});  // one supernode
  for (i32 j = 0; j < 200; j++)
    for (i32 i = j + 1; i < 200; i++) below[std::size_t(j)].push_back(i);
  const Supernodes nodes = find_supernodes(triangles::columns_of(below).pattern());
  REQUIRE(cut(nodes, 128).count() == 2);
  const WidthChoice two = choose_width(nodes, 8, machine(1e-3, 1e15), {.ranks = 3});
  CHECK(two.predicted.size() == 2);
  CHECK(two.said().find("; wider ones have fewer blocks than there are ranks") != std::string::npos);
  CHECK(choose_width(nodes, 8, machine(1e-3, 1e15)).said().find("fewer") == std::string::npos);
}

TEST("a solver tells the width that it has chosen and why; saved plans bring theirs, and bits are those of that width") {
  NOTE(fresh::said());
  fresh::Random random(33);
  const triangles::Columns c = triangles::with_fill(triangles::nested_grid(12, 12, 12));
  const auto values = triangles::values_of<double>(c, random);
  const TriangleView<double> L{c.pattern(), values.data()};
  const auto b = random.normals(c.n);
  std::vector<double> x(b.size()), named(b.size());
  TriangularOptions options{.engine = "model", .ranks = 1, .choose_width = true, .machine = machine(1e-3, 1e15)};
  TriangularSolver<double> chosen(L, options);
  const i32 width = chosen.statistics().width;
  CHECK(width > 64);
  CHECK(chosen.statistics().width_reason.find("both ways are predicted to take ") != std::string::npos);
  CHECK(chosen.statistics().width_seconds > 0);
  CHECK(chosen.statistics().width_seconds < chosen.statistics().symbolic_seconds);
  chosen.solve(b.data(), x.data());
  TriangularSolver<double>(L, {.width = width}).solve(b.data(), named.data());
  CHECK(x == named);
  const SavedPlans plans = chosen.saved_plans();
  options.plans = &plans;
  options.machine = machine(1e-12, 1e6);  // would choose another one
  CHECK(TriangularSolver<double>(L, options).statistics().width == width);
  options.plans = nullptr;
  CHECK(TriangularSolver<double>(L, options).statistics().width < width);
  CHECK(TriangularSolver<double>(L, {.choose_width = true}).statistics().width == width_of_hosts);
  CHECK(TriangularSolver<double>(L, {.width = 7}).statistics().width_reason.empty());
}

}  // namespace
