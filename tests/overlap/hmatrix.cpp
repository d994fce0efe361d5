// The exchanges of an H-matrix's product, on a described machine: terms of blocks whose columns a rank owns hide the gather of
// x, and its own rows hide those of others (000, section VI-E, goes no further than vector operations).
#include "check.hpp"
#include "described.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/hmatrix/strips.hpp"
#include "sordino/linalg/epilogue.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/solvers/driver.hpp"
#include "unit/hmatrix/surfaces.hpp"

using namespace described;
using hmatrix::Distribution;

namespace {

constexpr int ranks = 4, rank = 1;
constexpr double product_time = 40 * us;  // of a rank, both commands

const hmatrix::HMatrix& matrix_of_sphere() {
  static const hmatrix::HMatrix H(bem::Laplace(surfaces::sphere(6, 10).view()), {.compression = {.eps = 1e-4}});
  return H;
}

/// The share of the first command that needs nothing of other ranks, its share of a product's bytes, and that of own rows.
struct Early {
  double rows, command, own;
};
Early early(Distribution how = Distribution::rows) {
  const hmatrix::HMatrix& H = matrix_of_sphere();
  const Partition p = hmatrix::balance(H, ranks);
  const i32 begin = i32(p.first_row(rank)), own = p.rows(rank);
  const auto share = hmatrix::share_of(H, p, how, rank);
  const hmatrix::TermTable<double> v(share, {begin, begin + own});
  auto values = [&](const hmatrix::RowSet& rows) {
    const hmatrix::StripTable<double> u(H.tree(), share, v, rows);
    return 8.0 * double(u.values + u.operands);
  };
  const double n = share.columns.size(), terms = double(v.pieces.size()), first = 8.0 * (double(v.values) + n);
  const double all = first + values(hmatrix::RowSet({begin, begin + own})) + values(share.rows.without({begin, begin + own}));
  return {(own + v.own) / (n + terms), first / all, values(hmatrix::RowSet({begin, begin + own})) / all};
}

model::Options machine_with(double latency) {
  model::Options o = machine(0);
  o.ranks = ranks;
  o.machine.memory_bandwidth = double(matrix_of_sphere().stored_bytes()) / ranks / product_time;
  o.machine.link_latency_s = latency;
  return o;
}

Outcome solve(Rank& s, int max, Distribution how = Distribution::rows) {
  const hmatrix::HMatrix& H = matrix_of_sphere();
  hmatrix::HMatrixOperator op(s, H, hmatrix::balance(H, ranks), how);
  Identity M;
  Driver driver(s, op, M, method("bicgstab"), 1 << 20, 1 << 20);
  std::vector<double> b;
  for (i64 i = 0; i < driver.space().rows; i++) b.push_back(double(i * 7919 % 101) / 101 - 0.5);
  driver.solve(b.data(), nullptr, {.rtol = 1e-300, .max_iterations = max});
  return Outcome{};
}

runs::Iteration iteration(double latency, const runs::Mutation& mutate = {}, Distribution how = Distribution::rows) {
  return runs::per_iteration(machine_with(latency), [=](Rank& s, int max) { return solve(s, max, how); }, rank, mutate);
}

constexpr double late = 60 * us;  // too long to be hidden

/// So many products of several vectors at once, each of which all ranks begin together.
void several(Rank& s, int columns, int products) {
  const hmatrix::HMatrix& H = matrix_of_sphere();
  const Partition p = hmatrix::balance(H, ranks);
  const auto op = hmatrix::HMatrixOperator(s, H, p).of_columns(s, H, p, Distribution::rows, columns);
  Vec x = op.operand(s, "x"), y = op.result(s, "y");
  const std::vector<double> ones(std::size_t(s.space(op.space()).rows), 1.0);
  s.write(x, ones.data());
  Scal together = s.scalar("(y,y)");
  Recorded once = s.record([&] {
    s.run(Nothing{}, push(x));
    op.apply(s, x, y);
    record_dots(s, start(dot(y, y) >> together));
    s.wait(together);
  });
  for (int k = 0; k < products; k++) s.replay(once);
}

/// How much of two journeys an iteration hides.
double hidden(const runs::Mutation& mutate = {}) { return 2 * late - iteration(late, mutate).exposed_halo; }

/// Others' rows are waited for by the command before the sum, which computes own ones.
void await_before_own_rows(Recording& r) {
  for (std::size_t k = 1; k < r.commands.size(); k++) {
    if (r.commands[k].name != hmatrix::AddOthers::name) continue;
    auto& phases = r.commands[k].phases;
    const auto await = std::find_if(phases.begin(), phases.end(), [](const Phase& p) { return p.op == Op::await; });
    r.commands[k - 1].phases.insert(r.commands[k - 1].phases.begin() + 1, *await);
    phases.erase(await);
  }
}

/// Of four journeys: two of x, and two of others' rows.
double hidden(Distribution how, const runs::Mutation& mutate = {}) {
  return 4 * late - iteration(late, mutate, how).exposed_halo;
}

}  // namespace

TEST("terms whose columns a rank owns hide the all-gather of an H-matrix's product, and not if the wait comes first") {
  const Early e = early();
  const double expected = 2 * e.rows * e.command * product_time;
  CHECK(expected > 2 * us);
  CHECK_NEAR(hidden() - hidden(runs::await_at_once), expected, 0.25 * expected);
}

TEST("own terms hide the all-gather of eight vectors, too, by as many messages as one has, and not if the wait comes first") {
  struct Each {
    double exposed, messages, bytes;
  };
  auto product = [](int columns, const runs::Mutation& mutate = {}) {
    auto ledger = [&](int products) {
      auto program = [&](Rank& s) {
        s.mutate = mutate;
        several(s, columns, products);
        return Outcome{};
      };
      return runs::on_model(machine_with(late), program).ledgers[std::size_t(rank)];
    };
    const Ledger a = ledger(runs::few), b = ledger(runs::many);
    const double more = runs::many - runs::few;
    return Each{(b.exposed_halo - a.exposed_halo) / more, double(b.messages - a.messages) / more,
                double(b.bytes_sent - a.bytes_sent) / more};
  };
  const hmatrix::HMatrix& H = matrix_of_sphere();
  const Partition p = hmatrix::balance(H, ranks);
  const i32 begin = i32(p.first_row(rank)), own = p.rows(rank);
  const auto share = hmatrix::share_of(H, p, Distribution::rows, rank);
  const hmatrix::TermTable<double> v(share, {begin, begin + own});
  const double rows = 8 * (2.0 * share.columns.size() + double(v.pieces.size()));  // of eight vectors: x read, and z written
  const double command = 8 * (double(v.values) + rows) / machine_with(late).machine.memory_bandwidth;
  const double expected = early().rows * command;
  const Each eight = product(8), waits = product(8, runs::await_at_once);
  CHECK(expected > 2 * us);
  CHECK_NEAR(waits.exposed - eight.exposed, expected, 0.05 * expected);
  CHECK(eight.messages == ranks - 1);
  CHECK(eight.bytes == 8 * 8 * (ranks - 1) * double(own));
}

TEST("an all-gather that is shorter than these terms costs an iteration nothing") {
  const Early e = early();
  const double latency = 0.5 * e.rows * e.command * product_time;
  const auto it = iteration(latency), instant = iteration(0);
  CHECK(it.exposed_halo < 0.3 * latency);
  CHECK_NEAR(it.time, instant.time, 0.5 * latency);
}

TEST("a product gathers x once: every rank sends its rows to all others, and reduces nothing itself") {
  auto ledger = [&](int max) {
    return runs::on_model(machine_with(0), [&](Rank& s) { return solve(s, max); }).ledgers[std::size_t(rank)];
  };
  const Ledger few = ledger(runs::few), many = ledger(runs::many);
  const i64 iterations = runs::many - runs::few;
  const Partition p = hmatrix::balance(matrix_of_sphere(), ranks);
  CHECK(many.messages - few.messages == 2 * (ranks - 1) * iterations);
  CHECK(many.bytes_sent - few.bytes_sent == 2 * (ranks - 1) * 8 * i64(p.rows(rank)) * iterations);
  CHECK(many.reductions - few.reductions == 3 * iterations);  // bicgstab's own
}

TEST("own rows hide the journey of others' by leaves and in a grid, and not if the wait comes before them") {
  for (Distribution how : {Distribution::leaves, Distribution::grid}) {
    const double of_rows = 2 * early(how).own * product_time;
    NOTE(how == Distribution::grid ? "grid" : "leaves", ": own rows take ", of_rows, " s");
    CHECK(of_rows > 10 * us);
    CHECK_NEAR(hidden(how) - hidden(how, await_before_own_rows), of_rows, 0.25 * of_rows);
  }
}
