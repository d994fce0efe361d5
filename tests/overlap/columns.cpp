// What an iteration of eight columns costs on a described machine, beside those of one: the matrix is read once for all of
// them, and they are as many messages and reductions.
#include "sordino/solvers/columns.hpp"

#include "check.hpp"
#include "described.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/solvers/columns_driver.hpp"
#include "unit/hmatrix/surfaces.hpp"

using namespace described;
using hmatrix::Distribution, hmatrix::HMatrixOperator;

namespace {

constexpr int ranks = 4, rank = 1, columns_here = 8;

const hmatrix::HMatrix& matrix_of_sphere() {
  static const hmatrix::HMatrix H(bem::Laplace(surfaces::sphere(6, 10).view()), {.compression = {.eps = 1e-4}});
  return H;
}

model::Options machine_with(double reduction, double latency) {
  model::Options o = machine(reduction);
  o.ranks = ranks;
  o.machine.memory_bandwidth = double(matrix_of_sphere().stored_bytes()) / ranks / (40 * us);
  o.machine.link_latency_s = latency;
  return o;
}

std::vector<double> side(const Space& space, int k) {
  std::vector<double> b;
  for (i64 i = 0; i < space.rows; i++) b.push_back(double((i + 31 * k) * 7919 % 101) / 101 - 0.5);
  return b;
}

void solve_one(Rank& s, int max) {
  const hmatrix::HMatrix& H = matrix_of_sphere();
  const HMatrixOperator A(s, H, hmatrix::balance(H, ranks));
  Driver driver(s, A, Identity(), method("bicgstab"), 1 << 20, 0);
  driver.solve(side(driver.space(), 0).data(), nullptr, {.rtol = 1e-300, .max_iterations = max});
}

void solve_eight(Rank& s, int max) {
  const hmatrix::HMatrix& H = matrix_of_sphere();
  const Partition p = hmatrix::balance(H, ranks);
  const auto A = HMatrixOperator(s, H, p).of_columns(s, H, p, Distribution::rows, columns_here);
  columns::ColumnsDriver driver(s, A, Scaling{}, 1 << 20);
  std::vector<std::vector<double>> sides;
  std::vector<const double*> b;
  for (int k = 0; k < columns_here; k++) sides.push_back(side(driver.space(), k));
  for (auto& of : sides) b.push_back(of.data());
  driver.solve(b, std::vector<const double*>(b.size(), nullptr), {.rtol = 1e-300, .max_iterations = max});
}

/// What a rank does in an iteration.
Ledger iteration(const model::Options& options, void (*solve)(Rank&, int)) {
  auto ledger = [&](int max) {
    auto program = [&](Rank& s) {
      solve(s, max);
      return Outcome{};
    };
    return runs::on_model(options, program).ledgers[std::size_t(rank)];
  };
  const Ledger a = ledger(runs::few), b = ledger(runs::many);
  constexpr int more = runs::many - runs::few;
  Ledger each;
  each.reductions = (b.reductions - a.reductions) / more;
  each.reduced_values = (b.reduced_values - a.reduced_values) / more;
  each.messages = (b.messages - a.messages) / more;
  each.bytes_sent = (b.bytes_sent - a.bytes_sent) / more;
  each.memory_bytes = (b.memory_bytes - a.memory_bytes) / more;
  each.exposed_reduction = (b.exposed_reduction - a.exposed_reduction) / more;
  each.time = (b.time - a.time) / more;
  return each;
}

}  // namespace

TEST("an iteration of eight columns has the messages and reductions of one, and reads the matrix as often") {
  const model::Options o = machine_with(0, 0);
  const Ledger one = iteration(o, solve_one), eight = iteration(o, solve_eight);
  CHECK(one.reductions == 3);
  CHECK(eight.reductions == 3);
  CHECK(eight.reduced_values == columns_here * one.reduced_values);
  CHECK(eight.messages == one.messages);
  CHECK(eight.bytes_sent == columns_here * one.bytes_sent);
  const double matrix = 2 * double(matrix_of_sphere().stored_bytes()) / ranks;
  NOTE("bytes of one: ", one.memory_bytes, ", of eight: ", eight.memory_bytes, ", of two products: ", matrix);
  CHECK(eight.memory_bytes < matrix + columns_here * 1.35 * (one.memory_bytes - matrix));
  CHECK(eight.memory_bytes < 0.4 * columns_here * one.memory_bytes);
  CHECK(eight.time < 0.4 * columns_here * one.time);
}

TEST("three waits for sums and two for rows are those of all eight columns: latencies are paid once") {
  constexpr double wait = 50 * us, journey = 80 * us;
  auto more = [&](void (*solve)(Rank&, int)) {
    return iteration(machine_with(wait, journey), solve).time - iteration(machine_with(0, 0), solve).time;
  };
  const double one = more(solve_one), eight = more(solve_eight);
  CHECK(one > 3 * wait);
  CHECK(eight <= one + 1 * us);
}
