// The C++ of README.md, as a program: a test holds the two to be the same.
#include <sordino/api/solver.hpp>
#include <sordino/linalg/poisson.hpp>

int main() {
  sordino::CsrMatrix A = sordino::poisson(64, 64, 64, 27, 1.0);
  sordino::Options options;
  options.rtol = 1e-8;
  sordino::Solver solver(A.view(), options);
  std::vector<double> b(A.n, 1.0), x(A.n);
  sordino::Report report = solver.solve(b.data(), x.data());
  return report.status == sordino::Status::converged ? 0 : 3;
}
