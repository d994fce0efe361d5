// Matrices that have incomplete factors, easy and awkward, the factors, and what a host's command computes with them.
#pragma once
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/trsv/incomplete_operator.hpp"
#include "unit/fresh.hpp"

namespace incomplete_cases {

using namespace sordino;

/// Symmetric, with these neighbours of each row, those before it or all, and a dominant diagonal.
inline CsrMatrix matrix_of(i64 n, const std::vector<std::set<i64>>& neighbours, const std::function<double()>& value) {
  std::vector<std::set<i64>> rows(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++)
    for (i64 j : neighbours[std::size_t(i)])
      if (j != i) rows[std::size_t(i)].insert(j), rows[std::size_t(j)].insert(i);
  CsrMatrix A;
  A.n = n, A.indptr = {0};
  for (i64 i = 0; i < n; i++) {
    rows[std::size_t(i)].insert(i);
    for (i64 j : rows[std::size_t(i)]) A.indices.push_back(i32(j)), A.values.push_back(0);
    A.indptr.push_back(i64(A.indices.size()));
  }
  auto at = [&](i64 i, i64 j) -> double& {
    i64 k = A.indptr[std::size_t(i)];
    while (A.indices[std::size_t(k)] != j) k++;
    return A.values[std::size_t(k)];
  };
  for (i64 i = 0; i < n; i++) at(i, i) = 1;
  for (i64 i = 0; i < n; i++)
    for (i64 j : rows[std::size_t(i)])
      if (j < i) {
        const double v = value();
        at(i, j) = at(j, i) = v;
        at(i, i) += std::abs(v), at(j, j) += std::abs(v);
      }
  return A;
}

/// Each row needs the one before it.
inline CsrMatrix chain(i64 n) {
  std::vector<std::set<i64>> before(static_cast<std::size_t>(n));
  for (i64 i = 1; i < n; i++) before[std::size_t(i)].insert(i - 1);
  return matrix_of(n, before, [] { return -0.75; });
}

/// The last row needs all others, which need nothing; on the way back it is the other way round.
inline CsrMatrix dense_last_row(i64 n) {
  std::vector<std::set<i64>> before(static_cast<std::size_t>(n));
  for (i64 i = 0; i + 1 < n; i++) before[std::size_t(n) - 1].insert(i);
  return matrix_of(n, before, [k = 0]() mutable { return 0.01 * (1 + k++ % 7); });
}

inline CsrMatrix scattered(fresh::Random& random, i64 n, double chance) {
  std::vector<std::set<i64>> before(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++)
    for (i64 j = 0; j < i; j++)
      if (random.chance(chance)) before[std::size_t(i)].insert(j);
  return matrix_of(n, before, [&] { return random.normal(); });
}

/// Of 27 points, numbered along x, y, z.
inline CsrMatrix grid(fresh::Random& random, i64 nx, i64 ny, i64 nz, i64 most_steps = 3) {
  std::vector<std::set<i64>> near(static_cast<std::size_t>(nx * ny * nz));
  auto inside = [](i64 a, i64 n) { return a >= 0 && a < n; };
  for (i64 i = 0; i < nx * ny * nz; i++)
    for (i64 k = 0; k < 27; k++) {
      const i64 dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1, x = i % nx + dx, y = i / nx % ny + dy,
                z = i / (nx * ny) + dz;
      if (inside(x, nx) && inside(y, ny) && inside(z, nz) && std::abs(dx) + std::abs(dy) + std::abs(dz) <= most_steps)
        near[std::size_t(i)].insert(x + nx * (y + ny * z));
    }
  return matrix_of(nx * ny * nz, near, [&] { return -random.real(0.1, 1); });
}

struct Case {
  std::string name;
  CsrMatrix A;
};

inline std::vector<Case> all(fresh::Random& random) {
  return {{"one row", chain(1)},
          {"two rows", chain(2)},
          {"rows alone", scattered(random, 75, 0)},
          {"chain", chain(random.whole(100, 300))},
          {"a dense last row", dense_last_row(random.whole(150, 300))},
          {"long rows", scattered(random, 260, 0.6)},
          {"dense", scattered(random, 100, 1)},
          {"scattered", scattered(random, random.whole(200, 400), 0.03)},
          {"7 points", grid(random, 7, 9, 8, 1)},
          {"27 points", grid(random, 6, 5, 7)}};
}

/// New values of the pattern, which are symmetric and have a dominant diagonal, too.
inline void change_values(CsrMatrix& A, fresh::Random& random) {
  const double by = random.real(0.5, 2), more = random.real(0, 1);
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      A.values[std::size_t(k)] = by * A.values[std::size_t(k)] + (A.indices[std::size_t(k)] == i ? more : 0);
}

/// Of one rank.
struct Factors {
  trsv::Incomplete kind;
  std::vector<i64> begin{0};
  std::vector<i32> columns, diagonal;
  std::vector<double> values, inverse_pivots;

  Factors(const CsrMatrix& A, trsv::Incomplete k) : kind(k) {
    for (i64 i = 0; i < A.n; i++) {
      diagonal.push_back(0);
      for (i64 e = A.indptr[std::size_t(i)]; e < A.indptr[std::size_t(i) + 1]; e++) {
        const i32 j = A.indices[std::size_t(e)];
        if (!has(i, j)) continue;
        columns.push_back(j);
        diagonal.back() += j < i;
      }
      begin.push_back(i64(columns.size()));
    }
    factorize(A);
  }
  bool has(i64 row, i32 column) const { return kind == trsv::Incomplete::ilu0 || column <= row; }
  void factorize(const CsrMatrix& A) {
    values.clear(), inverse_pivots.clear();
    for (i64 i = 0; i < A.n; i++)
      for (i64 e = A.indptr[std::size_t(i)]; e < A.indptr[std::size_t(i) + 1]; e++)
        if (has(i, A.indices[std::size_t(e)])) values.push_back(A.values[std::size_t(e)]);
    const trsv::SparseRows rows{.n = A.n, .begin = begin.data(), .columns = columns.data()};
    kind == trsv::Incomplete::ic0 ? trsv::ic0(rows, values.data()) : trsv::ilu0(rows, values.data());
    for (std::size_t i = 0; i < diagonal.size(); i++) inverse_pivots.push_back(1 / values[std::size_t(begin[i] + diagonal[i])]);
  }
  trsv::IncompletePattern pattern() const { return {i32(diagonal.size()), begin.data(), columns.data(), diagonal.data()}; }
};

/// A rank's consecutive rows, about as many as any other's.
inline Space rows_of(i64 n, const Rank& rank, int ranks) {
  Space s;
  s.n_global = n;
  s.first_row = n * rank.id() / ranks;
  s.rows = i32(n * (rank.id() + 1) / ranks - s.first_row);
  s.n_blocks = ranks;
  s.first_block = rank.id();
  set_tiles(s, {0, s.rows});
  return s;
}

/// M^-1 r by the command of an engine, whose ranks' rows are M's blocks, in so many replays of one recording, after M has had
/// other values.
inline std::vector<double> by_command(Engine& engine, const CsrMatrix& A, trsv::Incomplete kind, const std::vector<double>& r,
                                      int replays = 1) {
  std::vector<double> result(r.size());
  CsrMatrix before = A;
  for (double& v : before.values) v *= 3;
  engine.run([&](Rank& rank) {
    trsv::IncompleteOperator M(rank, A.view(), rank.add_space(rows_of(A.n, rank, rank.size())), kind);
    const Vec from = M.operand(rank, "r"), to = M.result(rank, "z");
    const i64 first = rank.space(M.space()).first_row;
    rank.write(from, r.data() + first);
    Recorded apply = rank.record([&] { M.apply(rank, from, to); });
    for (const CsrMatrix& values : {before, A}) {
      if (M.factorize(rank, values.view()) != -1) throw Error(Errc::bad_argument, "the matrix of a test breaks down");
      for (int k = 0; k < replays; k++) rank.replay(apply);
    }
    rank.read(to, result.data() + first);
  });
  return result;
}

inline std::vector<double> on_host(const CsrMatrix& A, trsv::Incomplete kind, const std::vector<double>& r) {
  host::Options options;
  options.ranks = 1;
  host::HostEngine engine(options);
  return by_command(engine, A, kind, r);
}

}  // namespace incomplete_cases
