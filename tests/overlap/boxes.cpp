// Conjugate gradients of a rank with a box of a grid, cut on all six sides, on a described machine: its surface waits for the
// neighbours' and its core does not (001, Fig. 3 and Table II).
#include "sordino/linalg/boxes.hpp"
#include "check.hpp"
#include "described.hpp"
#include "sordino/linalg/row_runs.hpp"
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

enum Kind {
  by_rows,
  by_diagonals,
  mixed,  // the cells of a box stay in their order, so that core and surface take turns along each line
};

/// The matrix in the order of boxes.
struct InBoxes {
  BoxOrder order;
  CsrMatrix A;
  Diagonals diagonals = {};
};

const InBoxes& problem(Kind kind = by_rows) {
  static const auto made = [] {
    const CsrMatrix A = poisson(40, 39, 38, 7, 10);
    auto in = [&](const BoxOrder& order) { return InBoxes{order, matrices::reordered(A, order.cells)}; };
    BoxOrder order = order_in_boxes(A.view(), boxes);
    std::array all{in(order), in(order), InBoxes{}};
    all[by_diagonals].diagonals = diagonals_of(all[by_diagonals].A.view(), "dia", all[by_diagonals].order.cells.data());
    for (std::size_t box = 0; box + 1 < order.cuts.size(); box++)
      std::sort(order.cells.begin() + order.cuts[box], order.cells.begin() + order.cuts[box + 1]);
    all[mixed] = in(order);
    return all;
  }();
  return made[kind];
}

/// Of all ranks' products, as if they had boxes like the middle one.
double bytes_of(Kind kind) {
  const InBoxes& p = problem(kind);
  if (kind != by_diagonals) return csr_cost(p.A.n, p.A.indptr.back()).bytes;
  const i64 first = p.order.cuts[middle], end = p.order.cuts[middle + 1], entry = p.A.indptr[std::size_t(first)];
  const CsrSlice slice{first, end - first, entry, p.A.indptr[std::size_t(end)] - entry};
  const RowRuns runs = find_row_runs(p.A.view(), slice, p.A.indices.data() + entry, i32(first), p.A.n, p.diagonals);
  return ranks * (8.0 * double(runs.stored) + double(runs.bytes()));
}

model::Options machine_with(double latency, Kind kind = by_rows) {
  model::Options o = machine(0);
  o.ranks = ranks;
  o.machine.memory_bandwidth = bytes_of(kind) / ranks / product_time;
  o.machine.link_latency_s = latency;
  return o;
}

Outcome solve(Rank& s, const InBoxes& problem, int max) {
  CsrView A = problem.A.view();
  CsrOperator op(s, A, balance_within(A, problem.order.cuts), problem.diagonals);
  Jacobi M(s, A, op.space());
  Driver driver(s, op, M, method("cg"), 1 << 20, 1 << 20);
  std::vector<double> b;  // rough, so that a later x is a better one: else a solve ends with another product
  for (i64 i = 0; i < driver.space().rows; i++) b.push_back(double(i * 7919 % 101) / 101 - 0.5);
  driver.solve(b.data(), nullptr, {.rtol = 1e-300, .max_iterations = max});
  return Outcome{};
}

runs::Iteration iteration(double latency, Kind kind, const runs::Mutation& mutate = {}) {
  auto program = [&](Rank& s, int max) { return solve(s, problem(kind), max); };
  return runs::per_iteration(machine_with(latency, kind), program, middle, mutate);
}

/// How much of a journey that is too long for it an iteration hides.
double hidden(Kind kind, const runs::Mutation& mutate = {}) {
  constexpr double late = 50 * us;
  return late - iteration(late, kind, mutate).exposed_halo;
}

}  // namespace

TEST("an iteration of a box hides the halo from all six sides") {
  for (Kind kind : {by_rows, by_diagonals}) {
    NOTE(kind == by_rows ? "by rows" : "by diagonals");
    const double latency = 0.95 * hidden(kind);
    CHECK(latency > core * product_time);
    auto it = iteration(latency, kind), instant = iteration(0, kind);
    CHECK_NEAR(it.exposed_halo, 0, tiny);
    CHECK_NEAR(it.time, instant.time, 0.1 * us);
  }
}

TEST("the product of the core hides its part, and not if the wait comes first") {
  for (Kind kind : {by_rows, by_diagonals})
    CHECK_NEAR(hidden(kind) - hidden(kind, runs::await_at_once), core * product_time, 0.2 * core * product_time);
}

TEST("where the surface's cells stand between the core's, next to nothing hides the halo") {
  CHECK(hidden(mixed) < 0.1 * core * product_time);
}

TEST("a box sends its six faces an iteration, a cell to each neighbour once") {
  for (Kind kind : {by_rows, by_diagonals}) {
    auto ledger = [&](int max) {
      return runs::on_model(machine_with(0), [&](Rank& s) { return solve(s, problem(kind), max); })
          .ledgers[std::size_t(middle)];
    };
    const Ledger few = ledger(runs::few), many = ledger(runs::many);
    const i64 iterations = runs::many - runs::few;
    CHECK(many.messages - few.messages == 6 * iterations);
    CHECK(many.bytes_sent - few.bytes_sent == 6 * edge * edge * 8 * iterations);
  }
}
