// Solves with a Krylov method of one's own: conjugate residuals, the two files and the line of examples/own_solver/. They stand
// there as they would stand in src/sordino/solvers; what CMake does with them here, it does there by itself.
//
//   build/examples/own_solver [cells in each direction [ranks]]
//
// docs/writing_a_solver.md goes through it.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "sordino/api/solver.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"

namespace {

using namespace sordino;

// [what an iteration exposes]
/// Reductions that an iteration waits for, on a described machine where one takes a second and nothing else any time to speak
/// of: the difference of two runs, so that setup and verification drop out.
double exposed_reductions(const CsrMatrix& A, const std::vector<double>& b) {
  Machine machine;
  machine.reduction_base_s = 1;
  machine.launch_s = machine.put_overhead_s = 0;
  auto seconds = [&](int iterations) {
    Options o;
    o.solver = "residuals";
    o.engine = "model";
    o.ranks = 4;
    o.rtol = 1e-300;
    o.maxiter = iterations;
    std::vector<double> x(b.size());
    return Solver(A.view(), o, machine).solve(b.data(), x.data()).ledger.exposed_reduction;
  };
  return (seconds(15) - seconds(5)) / 10;
}
// [end of what it exposes]

}  // namespace

int main(int argc, char** argv) try {
  const i64 cells = argc > 1 ? std::atoll(argv[1]) : 16;
  const CsrMatrix A = poisson(cells, cells, cells, 7, 10);
  const std::vector<double> b(static_cast<std::size_t>(A.n), 1.0);
  std::vector<double> x(b.size());

  Options o;
  o.solver = "residuals";
  o.engine = "host";
  o.ranks = argc > 2 ? std::atoi(argv[2]) : 2;
  o.rtol = 1e-8;
  Solver solver(A.view(), o);
  const Report report = solver.solve(b.data(), x.data());
  std::printf("%s, preconditioner %s: %s after %d iterations on %d ranks, ||b - A x|| / ||b|| = %.2e, recomputed\n",
              solver.method().c_str(), solver.preconditioner().c_str(), name(report.status), report.iterations, o.ranks,
              report.true_residual);

  const double exposed = exposed_reductions(A, b);
  std::printf("an iteration exposes %.3f reductions\n", exposed);
  return report.status == Status::converged && std::abs(exposed - 2) < 1e-3 ? 0 : 3;
} catch (const Error& error) {
  std::fprintf(stderr, "own_solver: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
