#include "sordino/precond/block_ilu.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/linalg/row_space.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/linalg/reordered.hpp"
#include "unit/precond/textbook_ilu.hpp"

using namespace sordino;

namespace {

struct Setting {
  Tiling tiling = {};
  int ranks = 1, width = 1;
  bool symmetric = true;
  std::vector<i64> cuts = {};  // of boxes
};

Partition partition(const CsrView& A, const Setting& s) {
  if (!s.cuts.empty()) return balance_within(A, s.cuts);
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

/// What an application returns: (r,z) and (r,r), or their scalars in another order, and how many commands a rank took.
struct Returned {
  std::vector<double> z;
  double rz = 0, rr = 0;
  i64 commands = 0;
};
Returned returned(const CsrMatrix& matrix, const Setting& s, const std::vector<double>& r, bool in_order = true) {
  const CsrView A = matrix.view();
  Returned found{std::vector<double>(r.size())};
  host::HostEngine engine({.ranks = s.ranks});
  const Partition p = partition(A, s);
  engine.run([&](Rank& rank) {
    BlockIlu M(rank, A, add_row_space(rank, p, 1), s.tiling, s.symmetric, s.width);
    M.factorize(A);
    Vec from = M.operand(rank, "r"), to = M.result(rank, "z");
    Scal rz = rank.scalar("(r,z)"), rr = rank.scalar("(r,r)");
    const DotTo a = dot(from, to) >> rz, b = dot(from, from) >> rr;
    Recorded apply = rank.record([&] {
      M.apply(rank, from, to, in_order ? start(a, b) : start(b, a));
      rank.wait(rz);
    });
    rank.write(from, r.data() + p.first_row(rank.id()));
    rank.replay(apply);
    rank.read(to, found.z.data() + p.first_row(rank.id()));
    if (rank.id() == 0) found.rz = rank.get(rz), found.rr = rank.get(rr), found.commands = rank.ledger.commands;
  });
  return found;
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

/// The same as applied(), of a matrix whose ranks own boxes.
std::vector<double> applied_in_boxes(const CsrMatrix& A, const Boxes& boxes, const Extents& tile, const std::vector<double>& r,
                                     Setting s = {}, std::vector<std::vector<i64>>* refused = nullptr) {
  const BoxOrder order = order_in_boxes(A.view(), boxes);
  s.tiling = {boxes.grid, tile, order.cells.data()};
  s.ranks = int(boxes.count());
  s.cuts = order.cuts;
  return matrices::back(order.cells,
                        applied({matrices::reordered(A, order.cells)}, s, matrices::into(order.cells, r), refused));
}

/// Which tile of which box a cell belongs to; no tile: each box is one.
std::vector<i64> tiles_in_boxes(const Boxes& b, const Extents& tile) {
  std::vector<i64> of;
  for (i64 z = 0; z < b.grid[2]; z++)
    for (i64 y = 0; y < b.grid[1]; y++)
      for (i64 x = 0; x < b.grid[0]; x++) {
        i64 name = 0;
        for (auto [a, cell] : {std::pair<int, i64>(0, x), {1, y}, {2, z}}) {
          const i64 place = b.place(a, cell), inside = cell - b.first(a, place);
          name = 10000 * name + 100 * place + (tile[std::size_t(a)] ? inside / tile[std::size_t(a)] : 0);
        }
        of.push_back(name);
      }
  return of;
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
              CHECK(difference(applied({of}, s, r), matrices::textbook_ilu(of, blocks(of.view(), s), r)) < 1e-13);
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
      CHECK(difference(applied({*A}, s, r), matrices::textbook_ilu(*A, blocks(A->view(), s), r)) < 1e-12);
    }
}

TEST("block-ilu: without a grid tiles are consecutive rows; tiles, and their bits, are the same on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(512);
  CsrMatrix A = matrices::spd(random, 333, 3, 5);
  auto r = random.normals(A.n);
  Setting one{{{333, 1, 1}, {10, 1, 1}}};
  auto z = applied({A}, one, r);
  CHECK(difference(z, matrices::textbook_ilu(A, blocks(A.view(), one), r)) < 1e-13);
  for (int ranks : {2, 3, 7, 34})
    for (int width : {1, tiles_of_warp}) CHECK(applied({A}, {one.tiling, ranks, width}, r) == z);
}

TEST("block-ilu in boxes: each tile of each box is solved with the textbook's factors") {
  NOTE(fresh::said());
  fresh::Random random(514);
  const Extents grid = {7, 6, 9};
  for (int stencil : {7, 27}) {
    CsrMatrix A = poisson(grid[0], grid[1], grid[2], stencil, 300), B = skewed(random, A);
    auto r = random.normals(A.n);
    for (Extents along : {Extents{2, 1, 2}, {1, 3, 1}, {2, 2, 3}})
      for (Extents tile : {Extents{0, 0, 0}, {2, 3, 2}, {3, 1, 3}, {1, 1, 1}})
        for (int width : {1, tiles_of_warp})
          for (bool symmetric : {true, false}) {
            NOTE(stencil, " points, boxes ", shown(along), ", tile ", shown(tile), ", width ", width,
                 symmetric ? ", symmetric" : "");
            const CsrMatrix& of = symmetric ? A : B;
            const Boxes boxes{grid, along};
            auto z = applied_in_boxes(of, boxes, tile, r, {.width = width, .symmetric = symmetric});
            CHECK(difference(z, matrices::textbook_ilu(of, tiles_in_boxes(boxes, tile), r)) < 1e-12);
          }
  }
}

TEST("block-ilu in boxes: tiles that slabs have, too, have the same bits; a refused pivot is named by its cell") {
  NOTE(fresh::said());
  fresh::Random random(515);
  CsrMatrix A = poisson(8, 6, 8, 7, 50);
  auto r = random.normals(A.n);
  const Extents grid = {8, 6, 8}, tile = {4, 3, 2};
  for (Extents along : {Extents{2, 1, 2}, {1, 2, 1}, {2, 2, 4}})
    CHECK(applied_in_boxes(A, {grid, along}, tile, r) == applied({A}, {{grid, tile}}, r));
  auto rows = matrices::rows(A);
  for (std::size_t i : {std::size_t(77), std::size_t(78), std::size_t(300)}) rows[i][i32(i)] = -1;
  std::vector<std::vector<i64>> refused;
  applied_in_boxes(matrices::csr(rows), {grid, {2, 1, 2}}, tile, r, {}, &refused);
  CHECK(refused == (std::vector<std::vector<i64>>{{-1}, {77}, {-1}, {300}}));
  BoxOrder order = order_in_boxes(A.view(), {grid, {2, 1, 2}});
  order.cuts[1]--;
  Setting s{.tiling = {grid, tile, order.cells.data()}, .ranks = 4, .cuts = order.cuts};
  CHECK_THROWS(applied({matrices::reordered(A, order.cells)}, s, r), Error, "a rank's cells are no box");
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

TEST("block-ilu: of a symmetric M an application returns (r,z) and (r,r) itself, with the same bits on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(516);
  CsrMatrix A = poisson(19, 7, 12, 7, 300), B = skewed(random, A);
  auto r = random.normals(A.n);
  auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    long double sum = 0;
    for (std::size_t i = 0; i < a.size(); i++) sum += (long double)a[i] * b[i];
    return double(sum);
  };
  for (Extents tile : {Extents{8, 3, 2}, {19, 7, 3}, {1, 1, 1}, {4, 4, 1}, {0, 0, 0}}) {
    const Tiling tiling{tile[0] ? Extents{19, 7, 12} : Extents{}, tile};
    const Returned one = returned(A, {tiling}, r);
    for (int ranks : {1, 2, 4})
      for (int width : {1, tiles_of_warp}) {
        NOTE("tile ", shown(tile), ", ", ranks, " ranks, width ", width);
        const Returned found = returned(A, {tiling, ranks, width}, r);
        CHECK(found.commands == 2);  // the tiles, and the wait
        CHECK(found.z == applied({A}, {tiling, ranks, width}, r));
        CHECK_NEAR(found.rz, product(r, found.z), 1e-13 * found.rz);
        CHECK_NEAR(found.rr, product(r, r), 1e-13 * found.rr);
        if (!tiling.one_a_rank()) CHECK((found.rz == one.rz && found.rr == one.rr));
        for (const Returned& apart :
             {returned(A, {tiling, ranks, width}, r, false), returned(B, {tiling, ranks, width, false}, r)}) {
          CHECK(apart.commands == 3);  // dot products that the tiles do not return
          CHECK_NEAR(apart.rz, product(r, apart.z), 1e-13 * std::abs(apart.rz));
        }
      }
  }
}
