// Solves a Poisson equation with a jump in its coefficient, and shows what came of it:
//
//   build/examples/poisson [cells in each direction [ranks]]
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sordino/api/solver.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"

int main(int argc, char** argv) try {
  const sordino::i64 cells = argc > 1 ? std::atoll(argv[1]) : 32;

  // -div(k grad u) = 1 on a cube, k = 100 in a ball in its middle and 1 elsewhere. Any CSR arrays will do.
  const sordino::CsrMatrix A = sordino::poisson(cells, cells, cells, 7, 100.0);
  const std::vector<double> b(static_cast<std::size_t>(A.n), 1.0);
  std::vector<double> x(b.size());

  sordino::Options options;
  options.solver = "cg";
  options.precond = "jacobi";
  options.rtol = 1e-8;
  options.ranks = argc > 2 ? std::atoi(argv[2]) : 2;

  sordino::Solver solver(A.view(), options);  // partition, halos, vectors: once
  const sordino::Report report = solver.solve(b.data(), x.data());

  std::printf("%lld unknowns on %d ranks (engine %s, %s, preconditioner %s)\n", static_cast<long long>(A.n), solver.ranks(),
              solver.engine().c_str(), solver.method().c_str(), solver.preconditioner().c_str());
  std::printf("%s after %d iterations in %.3f s: %s\n", sordino::name(report.status), report.iterations, report.seconds,
              report.reason.c_str());
  std::printf("||b - A x|| / ||b|| = %.2e, recomputed\n", report.true_residual);
  std::printf("a rank started %lld reductions and sent %lld messages\n", static_cast<long long>(report.ledger.reductions),
              static_cast<long long>(report.ledger.messages));

  // Another right-hand side sets up nothing, and starts from the solution before.
  const std::vector<double> c(b.size(), 1.001);
  const sordino::Report next = solver.solve(c.data(), x.data(), x.data());
  std::printf("a right-hand side nearby: %s after %d iterations\n", sordino::name(next.status), next.iterations);

  return report.status == sordino::Status::converged && next.status == sordino::Status::converged ? 0 : 3;
} catch (const sordino::Error& error) {
  std::fprintf(stderr, "poisson: %s\n", error.what());
  return error.code() == sordino::Errc::bad_argument ? 2 : 4;
}
