// Solves the Poisson equation on a box, on four ranks of this process, and prints what it cost.
//
//   build/examples/poisson [N [RANKS]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "sordino/api/solver.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"

int main(int argc, char** argv) try {
  int n = argc > 1 ? std::atoi(argv[1]) : 40;
  sordino::Options options;
  options.engine = "host";
  options.ranks = argc > 2 ? std::atoi(argv[2]) : 4;
  options.solver = "cg";
  options.rtol = 1e-8;

  sordino::CsrMatrix A = sordino::poisson(n, n, n, 27, 1.0);
  sordino::Solver solver(A.view(), options);  // partition, halos, vectors, recordings: once

  std::vector<double> b(std::size_t(A.n)), x(b.size());
  for (sordino::i64 i = 0; i < A.n; i++)
    for (sordino::i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) b[i] += A.values[k];  // b = A*1, so x = 1
  sordino::Report report = solver.solve(b.data(), x.data());

  double error = 0;
  for (double xi : x) error = std::max(error, std::abs(xi - 1));
  const sordino::Ledger& l = report.ledger;
  std::printf("%s after %d iterations; recomputed residual %.2e, largest error %.2e\n", name(report.status), report.iterations,
              report.true_residual, error);
  std::printf("%lld reductions, %lld messages, %.1f MB sent by rank 0\n", (long long)l.reductions, (long long)l.messages,
              1e-6 * double(l.bytes_sent));
  return report.status == sordino::Status::converged && error < 1e-6 ? 0 : 3;
} catch (const sordino::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
