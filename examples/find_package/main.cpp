// An installed Sordino, used from another project: what it contains, and a small verified solve.
#include <sordino/api/solver.hpp>
#include <sordino/config.hpp>
#include <sordino/linalg/poisson.hpp>

#include <cstdio>

int main() {
  std::printf("Sordino %s, CUDA %s, MPI %s\n", SORDINO_VERSION, SORDINO_WITH_CUDA ? "yes" : "no", SORDINO_WITH_MPI ? "yes" : "no");
  sordino::CsrMatrix A = sordino::poisson(10, 10, 10, 7, 1.0);
  sordino::Options options;
  options.engine = "host";
  options.ranks = 2;
  sordino::Solver solver(A.view(), options);
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  sordino::Report report = solver.solve(b.data(), x.data());
  std::printf("%s after %d iterations\n", name(report.status), report.iterations);
  return report.status == sordino::Status::converged ? 0 : 1;
}
