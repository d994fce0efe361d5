// What tests of multigrid share: matrices with solid cells, and M^-1 of vectors, without a method around it.
#pragma once
#include <cmath>
#include <memory>
#include <numeric>

#include "problems.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/precond/grid_steps.hpp"
#include "sordino/precond/multigrid.hpp"
#include "sordino/precond/tiling.hpp"
#include "sordino/runtime/host/engine.hpp"

namespace cycles {

using namespace sordino;

/// With some cells solid: their rows are those of a multiple of the identity, and nobody else's rows know them.
inline CsrMatrix with_solids(fresh::Random& random, CsrMatrix A, double part, double diagonal = 1) {
  std::vector<bool> solid(static_cast<std::size_t>(A.n));
  for (i64 i = 0; i < A.n; i++) solid[std::size_t(i)] = random.real(0, 1) < part;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) {
      const i64 j = A.indices[std::size_t(k)];
      double& value = A.values[std::size_t(k)];
      if (solid[std::size_t(i)] || solid[std::size_t(j)]) value = i == j ? diagonal : 0;
    }
  return A;
}

/// Row and column i as row and column place[i].
inline CsrMatrix reordered(const CsrMatrix& A, const std::vector<i32>& place) {
  const matrices::Rows rows = matrices::rows(A);
  matrices::Rows to(rows.size());
  for (std::size_t i = 0; i < rows.size(); i++)
    for (auto [j, value] : rows[i]) to[std::size_t(place[i])][place[std::size_t(j)]] = value;
  return matrices::csr(to);
}

/// Rows and columns in random order.
inline CsrMatrix shuffled(fresh::Random& random, const CsrMatrix& A) {
  std::vector<i32> place(std::size_t(A.n));
  std::iota(place.begin(), place.end(), 0);
  for (std::size_t i = place.size(); i-- > 1;) std::swap(place[i], place[std::size_t(random.whole(0, i64(i)))]);
  return reordered(A, place);
}

inline double relative_residual(const CsrMatrix& A, const std::vector<double>& x, const std::vector<double>& b) {
  double off = 0, norm = 0;
  for (i64 i = 0; i < A.n; i++) {
    double left = b[std::size_t(i)];
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      left -= A.values[std::size_t(k)] * x[std::size_t(A.indices[std::size_t(k)])];
    off += left * left, norm += b[std::size_t(i)] * b[std::size_t(i)];
  }
  return std::sqrt(off / norm);
}

/// That a solver with new values solves as a new one does, and with the first ones as before, to the bit.
inline void check_new_values(const CsrMatrix& first, const CsrMatrix& second, const std::vector<double>& b, const Options& o) {
  Solver solver(first.view(), o);
  const problems::Solved before = problems::solve(solver, b);
  solver.update_values(second.values.data());
  CHECK(problems::solve(solver, b).x == problems::solve(second.view(), b, o).x);
  solver.update_values(first.values.data());
  CHECK(problems::solve(solver, b).x == before.x);
}

/// Iterations to 1e-8 of a solve that is checked.
inline int iterations(const CsrMatrix& A, const std::vector<double>& b, const Options& o) {
  const problems::Solved s = problems::solve(A.view(), b, o);
  CHECK(s.report.status == Status::converged);
  CHECK(relative_residual(A, s.x, b) <= 1.01e-8);
  return s.report.iterations;
}

/// Values with that on the diagonal of a row.
inline std::vector<double> with_diagonal(const CsrMatrix& A, i64 row, double value) {
  std::vector<double> values = A.values;
  for (i64 k = A.indptr[std::size_t(row)]; k < A.indptr[std::size_t(row) + 1]; k++)
    if (A.indices[std::size_t(k)] == row) values[std::size_t(k)] = value;
  return values;
}

inline Partition layers_of(const CsrMatrix& A, const Extents& cells, int ranks) {
  return partition_in_layers(A.n, grid_layers(A.view(), cells, ranks), ranks);
}

/// M^-1 of each vector, on as many ranks as the partition has.
inline std::vector<std::vector<double>> applied(const CsrMatrix& A, const std::vector<std::vector<double>>& given,
                                                const std::shared_ptr<const MultigridLevels>& levels, Cycle cycle) {
  const Partition& partition = levels->partition(0);
  std::vector<std::vector<double>> found(given.size(), std::vector<double>(std::size_t(A.n)));
  host::HostEngine engine({.ranks = partition.ranks()});
  engine.run([&](Rank& rank) {
    const CsrOperator matrix(rank, A.view(), partition);
    const Multigrid M(rank, matrix, levels, cycle);
    const Vec r = M.operand(rank, "r"), z = M.result(rank, "z");
    Recorded body = rank.record([&] { M.apply(rank, r, z); });
    for (std::size_t k = 0; k < given.size(); k++) {
      const i64 first = partition.first_row(rank.id());
      rank.write(r, given[k].data() + first);
      rank.replay(body);
      rank.read(z, found[k].data() + first);
    }
  });
  return found;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

/// Whether (M^-1 a, b) = (a, M^-1 b) to rounding and (M^-1 a, a) > 0, of two vectors.
inline bool is_symmetric_and_positive(const std::vector<std::vector<double>>& given,
                                      const std::vector<std::vector<double>>& found) {
  const double scale = std::sqrt(dot(found[0], found[0]) * dot(given[1], given[1]));
  return std::abs(dot(found[0], given[1]) - dot(found[1], given[0])) <= 1e-12 * scale && dot(found[0], given[0]) > 0;
}

}  // namespace cycles
