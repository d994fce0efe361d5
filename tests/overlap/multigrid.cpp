// What an iteration waits for where its preconditioner is a cycle of multigrid: halos of levels whose ranks have inner rows are
// hidden behind these, the gather of the last level is not, since all that follows is of it; sums go on behind the cycle where
// a method lets them.
#include "sordino/precond/multigrid.hpp"
#include "check.hpp"
#include "described.hpp"
#include "sordino/precond/given.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"
#include "sordino/solvers/driver.hpp"

using namespace described;

namespace {

constexpr int ranks = 4, middle = 1;
constexpr Extents cells{32, 32, 64};
constexpr double fine_product = 40 * us;  // of a rank

struct Made {
  CsrMatrix A = poisson(cells[0], cells[1], cells[2], 7, 10);
  Partition partition = partition_in_layers(A.n, grid_layers(A.view(), cells, ranks, 0), ranks);
  std::shared_ptr<const MultigridLevels> levels = std::make_shared<GridLevels>(A.view(), cells, partition, 0);
};
const Made& made() {
  static const Made all;
  return all;
}

/// Four ranks, whose halos take `latency`, and sums `reduction`.
model::Options machine_with(double latency, double reduction) {
  const CsrMatrix& A = made().A;
  model::Options o = machine(reduction);
  o.ranks = ranks;
  o.machine.memory_bandwidth = csr_cost(A.n, A.indptr.back()).bytes / ranks / fine_product;
  o.machine.link_latency_s = latency;
  return o;
}

Outcome solve(Rank& s, const std::string& name, Cycle cycle, int max) {
  const Made& of = made();
  CsrOperator op(s, of.A.view(), of.partition);
  GivenOperator M(std::make_unique<Multigrid>(s, op, of.levels, cycle));
  Driver driver(s, op, M, method(name), 1 << 20, 1 << 20);
  std::vector<double> b;  // rough, so that a later x is a better one: else a solve ends with another product
  for (i64 i = 0; i < driver.space().rows; i++) b.push_back(double(i * 7919 % 101) / 101 - 0.5);
  driver.solve(b.data(), nullptr, {.rtol = 1e-300, .max_iterations = max});
  return Outcome{};
}

runs::Iteration iteration(const std::string& name, const model::Options& o, const runs::Mutation& mutate = {},
                          Cycle cycle = Cycle::v) {
  return runs::per_iteration(o, [&](Rank& s, int max) { return solve(s, name, cycle, max); }, middle, mutate);
}

}  // namespace

// Four levels and the last: ranks have 16, 8, 4 and 2 layers of a level, of 16,384, 2,048, 256 and 32 rows. Work is done in
// blocks of rows: those of the last two have no block that waits for nobody. A cycle sends four vectors of a level: the
// polynomial's, what was left, the correction and what follows from it. What was left of the second level waits, too, for it is
// restricted to rows of the third.
constexpr int levels_with_inner_rows = 2, others = 2, halos = 4;
constexpr int hidden = levels_with_inner_rows * halos - 1, exposed = others * halos + 1;

TEST("multigrid: halos of levels that have inner rows are hidden, of the others exposed, and so is the last level's gather") {
  REQUIRE(made().levels->count() == levels_with_inner_rows + others + 1);
  for (double latency : {0.1 * us, 0.2 * us, 0.5 * us})
    for (const char* name : {"cg", "gropp", "cgcg", "prcg"}) {
      NOTE(name, ", a halo takes ", latency, " s");
      const model::Options o = machine_with(latency, 30 * us);
      const runs::Iteration it = iteration(name, o), waiting = iteration(name, o, runs::await_at_once);
      CHECK_NEAR(it.exposed_halo, (exposed + 1) * latency, 0.01 * us);
      // With each wait where its product begins; that of A p, which others send while they update p, may stay hidden.
      const double moved = waiting.exposed_halo - it.exposed_halo;
      CHECK(moved > (hidden - 0.1) * latency);
      CHECK(moved < (hidden + 1.1) * latency);
      CHECK_NEAR(waiting.time - it.time, moved, 0.1 * us);
    }
}

TEST("multigrid: halos that take longer than a level's inner rows are exposed by what is left") {
  const double latency = 8 * us;  // the second level's product takes an eighth of the first one's, 5 us
  const runs::Iteration it = iteration("cg", machine_with(latency, 9 * us));
  const double below = (exposed + 1) * latency;
  CHECK(it.exposed_halo > below + halos * (latency - fine_product / 8));
  CHECK(it.exposed_halo < below + halos * latency);
}

TEST("gropp with multigrid: a cycle hides a sum that products are too short for, and no wait but at its end") {
  const double reduction = 200 * us;  // longer than a product, shorter than a cycle
  const model::Options o = machine_with(0.5 * us, reduction);
  const runs::Iteration it = iteration("gropp", o), moved = iteration("gropp", o, runs::finish_at_once);
  NOTE("exposed ", it.exposed_reduction, " s, hidden ", it.hidden_reduction, " s");
  CHECK_NEAR(it.exposed_reduction + it.hidden_reduction, 2 * reduction, 0.1 * us);
  CHECK_NEAR(it.exposed_reduction, reduction - fine_product, 0.25 * fine_product);  // what A z does not hide of the other sum
  CHECK_NEAR(moved.exposed_reduction, 2 * reduction, 0.1 * us);
  CHECK_NEAR(moved.time - it.time, moved.exposed_reduction - it.exposed_reduction, 0.1 * us);
}

TEST("multigrid: sums that methods expose and hide, and what a wait that moves to its start exposes") {
  const double reduction = 30 * us;  // shorter than a product
  struct Promise {
    const char* method;
    int exposed, hidden, moved;
  };
  for (const Promise& p : {Promise{"cg", 2, 0, 2}, Promise{"fcg", 2, 0, 2}, Promise{"gropp", 0, 2, 2}, Promise{"cgcg", 1, 0, 1},
                           Promise{"prcg", 0, 2, 1}, Promise{"pcg1", 3, 0, 3}, Promise{"pcg2", 3, 0, 3}}) {
    NOTE(p.method);
    const model::Options o = machine_with(0.1 * us, reduction);
    const runs::Iteration it = iteration(p.method, o), moved = iteration(p.method, o, runs::finish_at_once);
    CHECK_NEAR(it.exposed_reduction, p.exposed * reduction, tiny);
    CHECK_NEAR(it.hidden_reduction, p.hidden * reduction, tiny);
    CHECK_NEAR(moved.exposed_reduction, p.moved * reduction, tiny);
    CHECK_NEAR(moved.time - it.time, (p.moved - p.exposed) * reduction, 0.1 * us);
  }
}

TEST("pcg-overlap with multigrid: (r,r) is hidden behind the cycle and (s,p) behind an update; (r,w) is exposed") {
  const double reduction = 1 * us;  // shorter than an update of a vector
  const model::Options o = machine_with(0.1 * us, reduction);
  const runs::Iteration it = iteration("pcg-overlap", o), waits = iteration("pcg2", o);
  CHECK_NEAR(it.exposed_reduction, reduction, tiny);
  CHECK_NEAR(it.hidden_reduction, 2 * reduction, tiny);
  CHECK_NEAR(waits.time - it.time, 2 * reduction, 0.01 * us);
}
