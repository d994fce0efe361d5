// A triangle, set up once: solves with it and with its transposed, new values, and how wrong x is.
#include <cmath>
#include <cstdio>
#include <vector>

#include "sordino/api/triangular.hpp"

int main() {
  using namespace sordino;
  // The lower triangle of the five-point matrix of a grid of n x n cells, by columns.
  const i64 n = 100, rows = n * n;
  std::vector<i64> begin{0};
  std::vector<i32> row;
  std::vector<double> value;
  for (i64 j = 0; j < rows; j++) {
    auto add = [&](i64 i, double a) { row.push_back(i32(i)), value.push_back(a); };
    add(j, 4);
    if ((j + 1) % n != 0) add(j + 1, -1);
    if (j + n < rows) add(j + n, -1);
    begin.push_back(i64(row.size()));
  }
  const trsv::TriangleView<double> L{{rows, begin.data(), row.data()}, value.data()};

  TriangularSolver<double> solver(L, {.threads = 2});
  std::vector<double> b(std::size_t(rows), 1), y(b.size()), x(b.size());
  solver.solve(b.data(), y.data());                            // L y = b
  solver.solve(y.data(), x.data(), 1, trsv::How::transposed);  // L^T x = y
  const double first = trsv::backward_errors(L, trsv::How::plain, b.data(), y.data())[0];
  const double second = trsv::backward_errors(L, trsv::How::transposed, y.data(), x.data())[0];

  for (double& a : value) a *= 2;
  solver.update(L);  // blocks and plans stay
  std::vector<double> half(b.size());
  solver.solve(b.data(), half.data());

  const TriangularStatistics s = solver.statistics();
  std::printf("%lld rows in %lld blocks, %lld of them one after the other; backward errors %.1e and %.1e\n", (long long)s.n,
              (long long)s.blocks, (long long)s.longest_chain, first, second);
  return first < 1e-14 && second < 1e-14 && half[0] == y[0] / 2 ? 0 : 1;
}
