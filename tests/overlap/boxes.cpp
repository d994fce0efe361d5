// Conjugate gradients of a rank with a box of a grid, cut on all six sides, on a described machine: its surface waits for the
// neighbours' and its core does not (001, Fig. 3 and Table II).
#include "sordino/linalg/boxes.hpp"
#include "check.hpp"
#include "described.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/solvers/driver.hpp"
#include "unit/linalg/reordered.hpp"

using namespace described;

namespace {

constexpr int ranks = 27, middle = 13;
constexpr i64 edge = 13;  // cells of the middle box, of which the core has two fewer
constexpr double core = 11 * 11 * 11 / double(edge * edge * edge);
constexpr double product_time = 10 * us;  // of a rank, on average
const Boxes boxes{{40, 39, 38}, {3, 3, 3}};

/// The matrix in the order of boxes, and where ranks begin.
struct InBoxes {
  CsrMatrix A;
  std::vector<i64> cuts;
};

/// `mixed`: the cells of a box stay in their order, so that core and surface take turns along each line.
const InBoxes& problem(bool mixed = false) {
  static const auto made = [] {
    const CsrMatrix A = poisson(40, 39, 38, 7, 10);
    BoxOrder order = order_in_boxes(A.view(), boxes);
    InBoxes apart{matrices::reordered(A, order.cells), order.cuts};
    for (std::size_t box = 0; box + 1 < order.cuts.size(); box++)
      std::sort(order.cells.begin() + order.cuts[box], order.cells.begin() + order.cuts[box + 1]);
    return std::array{std::move(apart), InBoxes{matrices::reordered(A, order.cells), order.cuts}};
  }();
  return made[mixed];
}

model::Options machine_with(double latency) {
  model::Options o = machine(0);
  o.ranks = ranks;
  const CsrMatrix& A = problem().A;
  o.machine.memory_bandwidth = csr_cost(A.n, A.indptr.back()).bytes / ranks / product_time;
  o.machine.link_latency_s = latency;
  return o;
}

Outcome solve(Rank& s, const InBoxes& problem, int max) {
  CsrView A = problem.A.view();
  CsrOperator op(s, A, balance_within(A, problem.cuts));
  Jacobi M(s, A, op.space());
  Driver driver(s, op, M, method("cg"), 1 << 20, 1 << 20);
  std::vector<double> b;  // rough, so that a later x is a better one: else a solve ends with another product
  for (i64 i = 0; i < driver.space().rows; i++) b.push_back(double(i * 7919 % 101) / 101 - 0.5);
  driver.solve(b.data(), nullptr, {.rtol = 1e-300, .max_iterations = max});
  return Outcome{};
}

runs::Iteration iteration(double latency, bool mixed = false, const runs::Mutation& mutate = {}) {
  auto program = [&](Rank& s, int max) { return solve(s, problem(mixed), max); };
  return runs::per_iteration(machine_with(latency), program, middle, mutate);
}

/// How much of a journey that is too long for it an iteration hides.
double hidden(bool mixed, const runs::Mutation& mutate = {}) {
  constexpr double late = 50 * us;
  return late - iteration(late, mixed, mutate).exposed_halo;
}

}  // namespace

TEST("an iteration of a box hides the halo from all six sides") {
  const double latency = 0.95 * hidden(false);
  CHECK(latency > core * product_time);
  auto it = iteration(latency), instant = iteration(0);
  CHECK_NEAR(it.exposed_halo, 0, tiny);
  CHECK_NEAR(it.time, instant.time, 0.1 * us);
}

TEST("the product of the core hides its part, and not if the wait comes first") {
  CHECK_NEAR(hidden(false) - hidden(false, runs::await_at_once), core * product_time, 0.2 * core * product_time);
}

TEST("where the surface's cells stand between the core's, next to nothing hides the halo") {
  CHECK(hidden(true) < 0.1 * core * product_time);
}

TEST("a box sends its six faces an iteration, a cell to each neighbour once") {
  auto ledger = [&](int max) {
    return runs::on_model(machine_with(0), [&](Rank& s) { return solve(s, problem(), max); }).ledgers[std::size_t(middle)];
  };
  const Ledger few = ledger(runs::few), many = ledger(runs::many);
  const i64 iterations = runs::many - runs::few;
  CHECK(many.messages - few.messages == 6 * iterations);
  CHECK(many.bytes_sent - few.bytes_sent == 6 * edge * edge * 8 * iterations);
}
