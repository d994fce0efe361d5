#include "sordino/precond/block_ilu.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/linalg/row_space.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

namespace {

struct Setting {
  Tiling tiling;
  int ranks = 1, width = 1;
  bool symmetric = true;
};

Partition partition(const CsrView& A, const Setting& s) {
  return s.tiling.one_a_rank() ? balance(A, s.ranks) : partition_in_layers(A.n, s.tiling, s.ranks);
}

/// M^-1 r, of the last of these matrices; `refused` [ranks] is what each rank says of each matrix.
std::vector<double> applied(const std::vector<CsrMatrix>& matrices, const Setting& s, const std::vector<double>& r,
                            std::vector<std::vector<i64>>* refused = nullptr) {
  const CsrView A = matrices[0].view();
  std::vector<double> z(std::size_t(A.n));
  host::HostEngine engine({.ranks = s.ranks});
  Partition p = partition(A, s);
  if (refused) refused->assign(std::size_t(s.ranks), {});
  engine.run([&](Rank& rank) {
    BlockIlu M(rank, A, add_row_space(rank, p, 1), s.tiling, s.symmetric, s.width);
    for (auto& values : matrices) {
      i64 row = M.factorize(values.view());
      if (refused) (*refused)[std::size_t(rank.id())].push_back(row);
    }
    Vec from = M.operand(rank, "r"), to = M.result(rank, "z");
    Recorded apply = rank.record([&] { M.apply(rank, from, to); });
    rank.write(from, r.data() + p.first_row(rank.id()));
    rank.replay(apply);
    rank.read(to, z.data() + p.first_row(rank.id()));
  });
  return z;
}

/// Which block a row belongs to, counted by hand.
std::vector<i64> blocks(const CsrView& A, const Setting& s) {
  std::vector<i64> of;
  Partition p = partition(A, s);
  auto& [nx, ny, nz] = s.tiling.grid;
  auto& tile = s.tiling.tile;
  for (i64 i = 0; i < A.n; i++) {
    if (s.tiling.one_a_rank())
      of.push_back(p.owner(i));
    else
      of.push_back(i % nx / tile[0] + 10000 * (i / nx % ny / tile[1]) + 100000000 * (i / (nx * ny) / tile[2]));
  }
  return of;
}

/// The textbook's ILU(0) of the entries within blocks, row by row, and both triangular solves.
std::vector<double> reference(const CsrMatrix& A, const std::vector<i64>& block, std::vector<double> r) {
  matrices::Rows rows = matrices::rows(A);
  for (std::size_t i = 0; i < rows.size(); i++) {
    std::erase_if(rows[i], [&](auto& entry) { return block[std::size_t(entry.first)] != block[i]; });
    for (auto& [k, value] : rows[i]) {
      if (k >= i32(i)) break;
      value /= rows[std::size_t(k)].at(k);
      for (auto& [j, u] : rows[std::size_t(k)])
        if (j > k && rows[i].count(j)) rows[i][j] -= value * u;
    }
  }
  for (std::size_t i = 0; i < rows.size(); i++)
    for (auto& [j, value] : rows[i])
      if (j < i32(i)) r[i] -= value * r[std::size_t(j)];
  for (std::size_t i = rows.size(); i-- > 0;) {
    for (auto& [j, value] : rows[i])
      if (j > i32(i)) r[i] -= value * r[std::size_t(j)];
    r[i] /= rows[i].at(i32(i));
  }
  return r;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); i++) most = std::max(most, std::abs(a[i] - b[i]) / (1 + std::abs(b[i])));
  return most;
}

CsrMatrix skewed(fresh::Random& random, CsrMatrix A) {
  for (double& v : A.values) v *= random.real(0.5, 1);
  return matrices::dominant(random, A, 0.1, 2);
}

}  // namespace

TEST("block-ilu: each tile is solved with the textbook's factors, also tiles that the grid cuts off") {
  NOTE(fresh::said());
  fresh::Random random(510);
  auto check = [&](const Extents& grid, const std::vector<Extents>& tiles) {
    for (int stencil : {7, 27}) {
      CsrMatrix A = poisson(grid[0], grid[1], grid[2], stencil, 300), B = skewed(random, A);
      auto r = random.normals(A.n);
      for (auto& tile : tiles)
        for (int ranks : {1, 2, 3})
          for (int width : {1, tiles_of_warp})
            for (bool symmetric : {true, false}) {
              NOTE(stencil, " points, grid ", grid[0], ",", grid[1], ",", grid[2], ", tile ", tile[0], ",", tile[1], ",",
                   tile[2], ", ", ranks, " ranks, width ", width, symmetric ? ", symmetric" : "");
              Setting s{{grid, tile}, ranks, width, symmetric};
              const CsrMatrix& of = symmetric ? A : B;
              CHECK(difference(applied({of}, s, r), reference(of, blocks(of.view(), s), r)) < 1e-13);
            }
    }
  };
  check({7, 6, 9}, {{4, 4, 2}, {2, 3, 1}, {1, 1, 3}, {7, 6, 2}, {3, 6, 3}, {1, 1, 1}, {2, 2, 2}});
  check({19, 3, 6}, {{8, 3, 2}, {16, 2, 2}, {10, 1, 1}, {19, 2, 1}, {9, 3, 2}});  // lines of more cells than are solved at once
  check({18, 13, 1}, {{8, 4, 1}, {5, 13, 1}});                                    // in a plane
}

TEST("block-ilu: one tile a rank is ILU(0) of the rank's own entries, of any matrix with few diagonals") {
  NOTE(fresh::said());
  fresh::Random random(511);
  CsrMatrix grid = poisson(7, 5, 9, 27, 1e4), band = matrices::nonsymmetric(random, 400, 3, 6);
  for (int ranks : {1, 2, 5})
    for (const CsrMatrix* A : {&grid, &band}) {
      NOTE(ranks, " ranks, ", A->n, " rows");
      auto r = random.normals(A->n);
      Setting s{.tiling = {}, .ranks = ranks, .symmetric = A == &grid};
      CHECK(difference(applied({*A}, s, r), reference(*A, blocks(A->view(), s), r)) < 1e-12);
    }
}

TEST("block-ilu: without a grid tiles are consecutive rows; tiles, and their bits, are the same on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(512);
  CsrMatrix A = matrices::spd(random, 333, 3, 5);
  auto r = random.normals(A.n);
  Setting one{{{333, 1, 1}, {10, 1, 1}}};
  auto z = applied({A}, one, r);
  CHECK(difference(z, reference(A, blocks(A.view(), one), r)) < 1e-13);
  for (int ranks : {2, 3, 7, 34})
    for (int width : {1, tiles_of_warp}) CHECK(applied({A}, {one.tiling, ranks, width}, r) == z);
}

TEST("block-ilu: symmetric and positive; new values are those of a new one; a pivot that is not positive is named") {
  NOTE(fresh::said());
  fresh::Random random(513);
  CsrMatrix A = poisson(6, 5, 8, 27, 50), B = A, C = A;
  for (double& v : B.values) v *= 0.25;
  auto u = random.normals(A.n), v = random.normals(A.n);
  Setting s{{{6, 5, 8}, {3, 2, 2}}, 3};
  auto Mu = applied({A}, s, u), Mv = applied({A}, s, v);
  double uMv = 0, vMu = 0, uMu = 0;
  for (std::size_t i = 0; i < u.size(); i++) uMv += u[i] * Mv[i], vMu += v[i] * Mu[i], uMu += u[i] * Mu[i];
  CHECK(uMu > 0);
  CHECK_NEAR(uMv, vMu, 1e-12 * uMu);
  CHECK(applied({B, A}, s, u) == Mu);

  auto rows = matrices::rows(C);
  for (std::size_t i : {std::size_t(77), std::size_t(200)}) rows[i][i32(i)] = -1;
  C = matrices::csr(rows);
  std::vector<std::vector<i64>> refused;
  CHECK(applied({A, C, A}, s, u, &refused) == Mu);
  CHECK(refused == (std::vector<std::vector<i64>>{{-1, -1, -1}, {-1, 77, -1}, {-1, 200, -1}}));
  CHECK((applied({C}, {s.tiling, 3, 1, false}, u, &refused), refused[1][0] == -1));  // of LU it may be negative
  rows[77] = {{77, 0.0}};
  CHECK((applied({matrices::csr(rows)}, {s.tiling, 3, 1, false}, u, &refused), refused[1][0] == 77));
}
