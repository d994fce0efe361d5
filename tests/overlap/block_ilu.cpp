// What an iteration of cg waits for where its preconditioner is no diagonal, and returns the sums of its rows itself.
#include "sordino/precond/block_ilu.hpp"
#include "check.hpp"
#include "described.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/row_space.hpp"
#include "sordino/precond/given.hpp"
#include "sordino/solvers/driver.hpp"

using namespace described;

namespace {

void solve(Rank& s, int max, bool symmetric) {
  const CsrView A = matrix().view();
  const Tiling tiling{{12, 12, 28}, {4, 4, 2}};
  const Partition partition = partition_in_layers(A.n, tiling, s.size());
  CsrOperator op(s, A, partition);
  auto tiles = std::make_unique<BlockIlu>(s, A, op.space(), tiling, symmetric, 1);
  CHECK(tiles->factorize(A) == -1);
  GivenOperator M(std::move(tiles));
  Driver driver(s, op, M, method("cg"), 1 << 20, 1 << 20);
  std::vector<double> b;
  for (i64 i = 0; i < A.n; i++) b.push_back(1 + double(i * 7919 % 101) / 101);
  driver.solve(b.data() + driver.space().first_row, nullptr, {.rtol = 1e-300, .max_iterations = max});
}

struct Each {  // an iteration, on a rank in the middle
  runs::Iteration it;
  double reductions, values, traffic;
};

/// `symmetric`: M is stored as one triangle, and returns sums; else another command takes them.
Each iteration(const model::Options& o, bool symmetric) {
  auto program = [&](Rank& s, int max) { return solve(s, max, symmetric), Outcome{}; };
  auto ledger = [&](int max) { return runs::on_model(o, [&](Rank& s) { return program(s, max); }).ledgers[1]; };
  const Ledger few = ledger(runs::few), many = ledger(runs::many);
  auto each = [&](auto member) { return double(many.*member - few.*member) / (runs::many - runs::few); };
  return {runs::per_iteration(o, program, 1), each(&Ledger::reductions), each(&Ledger::reduced_values),
          each(&Ledger::memory_bytes) / o.machine.memory_bandwidth};
}

}  // namespace

// A sum of (r,r) that were started apart, by the command that makes r, would go on behind M, and be hidden as far as M is long.
TEST("cg with block-ilu waits for two sums and no third is under way, however long M and the sums take") {
  for (double reduction : {0.5 * us, 9 * us, 200 * us})
    for (bool symmetric : {true, false}) {
      NOTE("a sum takes ", reduction, " s, M is ", symmetric ? "symmetric" : "not");
      const model::Options o = machine(reduction);
      const Each each = iteration(o, symmetric);
      CHECK(each.reductions == 2);
      CHECK(each.values == 3);
      CHECK_NEAR(each.it.exposed_reduction, 2 * reduction, tiny);
      CHECK_NEAR(each.it.hidden_reduction, 0, tiny);
      CHECK_NEAR(each.it.exposed_halo, 0, tiny);
      CHECK_NEAR(each.it.time, each.traffic + 2 * reduction + each.it.imbalance, tiny);
      CHECK(each.it.imbalance < 0.02 * each.it.time);
    }
}

TEST("block-ilu that returns sums saves cg the time in which vectors are read for them") {
  const model::Options o = machine(9 * us);
  const double rows = 4 * 2 * 12 * 12, bytes = 8 * 2 * rows;  // rank 1 has 4 of 14 layers; r and z
  const Each with = iteration(o, true), without = iteration(o, false);
  CHECK_NEAR(without.traffic - with.traffic, bytes / o.machine.memory_bandwidth, tiny);
}
