// Solves a small system with an installed Sordino.
#include <sordino/api/solver.hpp>
#include <sordino/config.hpp>
#include <sordino/solvers/registry.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  // Four rows with 2 on the diagonal and -1 beside it; b = A (1, 1, 1, 1).
  const std::vector<sordino::i64> indptr{0, 2, 5, 8, 10};
  const std::vector<sordino::i32> indices{0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
  const std::vector<double> values{2, -1, -1, 2, -1, -1, 2, -1, -1, 2}, b{1, 0, 0, 1};
  std::vector<double> x(4);

  sordino::Options options;
  options.engine = "host";
  options.ranks = 2;
  options.rtol = 1e-12;
  sordino::Solver solver({4, indptr.data(), indices.data(), values.data()}, options);
  const sordino::Report report = solver.solve(b.data(), x.data());

  std::printf("Sordino %s, CUDA %s, MPI %s\n", SORDINO_VERSION, SORDINO_WITH_CUDA ? "yes" : "no",
              SORDINO_WITH_MPI ? "yes" : "no");
  for (const auto& method : sordino::methods()) std::printf("%s - %s\n", method.name.c_str(), method.summary.c_str());
  std::printf("%s: %s after %d iterations, x = %g %g %g %g\n", solver.method().c_str(), sordino::name(report.status),
              report.iterations, x[0], x[1], x[2], x[3]);
  for (double value : x)
    if (std::abs(value - 1) > 1e-10) return 1;
  return report.status == sordino::Status::converged ? 0 : 1;
}
