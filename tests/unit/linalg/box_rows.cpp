// Boxes of a grid by the grid's diagonals: of each row the bits that it has in the grid's own order, however boxes are cut; how
// rows find their entries, and what that takes.
#include "sordino/linalg/box_rows.hpp"

#include <array>
#include <map>
#include <set>

#include "products.hpp"
#include "reordered.hpp"
#include "sordino/linalg/boxes.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

/// A grid's matrix in the order of boxes.
struct InBoxes {
  InBoxes(const CsrMatrix& matrix, const Boxes& boxes)
      : order(order_in_boxes(matrix.view(), boxes)),
        A(matrices::reordered(matrix, order.cells)),
        partition(balance_within(A.view(), order.cuts)) {}

  Diagonals by(const std::string& storage) const { return diagonals_of(A.view(), storage, order.cells.data()); }
  /// A times a vector in the grid's order.
  Product times(Engine& engine, const std::vector<double>& x, const Diagonals& diagonals, bool gathered = false) const {
    Product p = product(engine, A.view(), partition, matrices::into(order.cells, x), gathered, diagonals);
    p.y = matrices::back(order.cells, p.y);
    for (auto& all : p.all)
      if (all.size() == x.size()) all = matrices::back(order.cells, all);
    return p;
  }
  CsrSlice slice(int rank) const {
    const i64 first = partition.first_row(rank), end = partition.first_row(rank + 1);
    return {first, end - first, A.indptr[std::size_t(first)], A.indptr[std::size_t(end)] - A.indptr[std::size_t(first)]};
  }

  BoxOrder order;
  CsrMatrix A;
  Partition partition;
};

struct Case {
  Extents grid, along;
};
const Case cases[] = {{{9, 7, 8}, {1, 1, 3}},  {{9, 7, 8}, {2, 2, 2}},  {{5, 6, 7}, {3, 2, 1}}, {{70, 3, 5}, {1, 2, 1}},
                      {{1, 40, 3}, {1, 4, 1}}, {{33, 1, 1}, {4, 1, 1}}, {{4, 4, 4}, {4, 1, 2}}, {{12, 11, 10}, {1, 2, 3}}};

i64 cells(const Extents& e) { return e[0] * e[1] * e[2]; }

/// Stencils, and couplings anywhere in the grid, with gaps, of which few or none have a mirror.
std::vector<CsrMatrix> matrices_of(fresh::Random& random, const Extents& grid, bool symmetric) {
  std::vector<CsrMatrix> all;
  for (int points : {7, 27}) all.push_back(poisson(grid[0], grid[1], grid[2], points, 50.0));
  const i64 n = cells(grid);
  for (int pairs : {2, 6}) {
    matrices::Rows rows(std::size_t(n), std::map<i32, double>{});
    for (i64 i = 0; i < n; i++) rows[std::size_t(i)][i32(i)] = random.normal();
    for (int k = 0; k < pairs; k++)
      for (i64 i = 0, offset = random.whole(1, n - 1); i + offset < n; i++) {
        if (random.chance(0.2)) continue;
        const double upper = random.normal();
        rows[std::size_t(i)][i32(i + offset)] = upper;
        if (symmetric || random.chance(0.7)) rows[std::size_t(i + offset)][i32(i)] = symmetric ? upper : random.normal();
      }
    all.push_back(matrices::csr(rows));
  }
  return all;
}

void set_diagonal(CsrMatrix& A, double value) {
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (A.indices[std::size_t(k)] == i) A.values[std::size_t(k)] = value;
}

}  // namespace

TEST("a row of a product in boxes has the bits that it has in the grid's order, by every kind of diagonals") {
  NOTE(fresh::said());
  fresh::Random random(631);
  for (auto& [grid, along] : cases)
    for (const char* storage : {"dia", "symdia"})
      for (auto& A : matrices_of(random, grid, storage[0] == 's')) {
        NOTE(shown(grid), " in ", shown(along), ", ", storage, ", ", A.view().nnz(), " entries");
        const auto x = random.normals(A.n);
        const auto wanted = on_host(A.view(), x, 1).y;
        const InBoxes p(A, {grid, along});
        HostEngine engine({.ranks = int(cells(along)), .timeout = 20});
        CHECK(same_bits(p.times(engine, x, p.by(storage)).y, wanted));
        for (auto& all : p.times(engine, x, p.by(storage), true).all) CHECK(same_bits(all, wanted));
      }
}

TEST("in boxes rows that are alike are kept once, and a unit diagonal is not") {
  NOTE(fresh::said());
  fresh::Random random(632);
  for (auto& [grid, along] : cases)
    for (int points : {7, 27}) {
      NOTE(shown(grid), " in ", shown(along), ", ", points, " points");
      CsrMatrix A = poisson(grid[0], grid[1], grid[2], points, 1.0);
      const auto x = random.normals(A.n);
      HostEngine engine({.ranks = int(cells(along)), .timeout = 20});
      const InBoxes alike(A, {grid, along});
      CHECK(same_bits(alike.times(engine, x, alike.by("constant")).y, on_host(A.view(), x, 1).y));
      set_diagonal(A, 1);
      const InBoxes unit(A, {grid, along});
      for (const char* storage : {"dia", "symdia"}) {
        Diagonals kept = unit.by(storage), left = kept;
        left.unit = kept.offsets.size() > 1;
        CHECK(same_bits(unit.times(engine, x, left).y, on_host(A.view(), x, 1).y));
        const CsrSlice slice = unit.slice(0);
        auto stored = [&](const Diagonals& d) {
          return find_row_runs(unit.A.view(), slice, unit.A.indices.data(), 0, unit.A.n, d).stored;
        };
        CHECK(stored(kept) - stored(left) == (slice.rows + 31) / 32 * 32);
      }
    }
}

TEST("the model computes the same products of boxes, in any order of events") {
  NOTE(fresh::said());
  fresh::Random random(633);
  const CsrMatrix A = poisson(13, 11, 12, 27, 50.0);
  const auto x = random.normals(A.n);
  const auto wanted = on_host(A.view(), x, 1).y;
  const InBoxes p(A, {{13, 11, 12}, {2, 1, 2}});
  for (u64 seed = 0; seed < 10; seed++)
    for (const char* storage : {"dia", "symdia"}) {
      model::Options o;
      o.ranks = 4;
      o.seed = seed;
      o.machine.jitter_s = 5e-6;
      model::ModelEngine engine(o);
      CHECK(same_bits(p.times(engine, x, p.by(storage)).y, wanted));
    }
}

TEST("every row has a place of its own for each diagonal, and reads its own rows where it has no entry") {
  NOTE(fresh::said());
  fresh::Random random(634);
  for (auto& [grid, along] : cases)
    for (const char* storage : {"dia", "symdia"})
      for (auto& A : matrices_of(random, grid, storage[0] == 's')) {
        const InBoxes p(A, {grid, along});
        const Diagonals diagonals = p.by(storage);
        for (int rank = 0; rank < p.partition.ranks(); rank++) {
          const CsrSlice slice = p.slice(rank);
          std::vector<i32> columns;  // foreign ones behind the own, wherever they are
          for (i64 k = slice.first_entry; k < slice.first_entry + slice.entries; k++) {
            const i64 column = p.A.indices[std::size_t(k)] - slice.first_row;
            columns.push_back(i32(column >= 0 && column < slice.rows ? column : slice.rows + p.A.indices[std::size_t(k)]));
          }
          const i32 count = i32(diagonals.offsets.size());
          const RowRuns runs = find_row_runs(p.A.view(), slice, columns.data(), 0, slice.rows, diagonals);
          std::map<u32, std::set<std::pair<i64, i64>>> pairs;  // that use a place
          for (u32 row = 0; row < slice.rows; row++) {
            std::vector<i32> found(std::size_t(count), -1);
            for (i64 k = p.A.indptr[std::size_t(slice.first_row + row)]; k < p.A.indptr[std::size_t(slice.first_row + row) + 1];
                 k++)
              found[diagonals.of(slice.first_row + row, p.A.indices[std::size_t(k)])] =
                  columns[std::size_t(k - slice.first_entry)];
            for (i32 d = 0; d < count; d++) {
              const RunDiagonal diagonal = runs.view(count).of(row)[d];
              const i64 column = i64(row) + diagonal.offset, entry = found[std::size_t(d)];
              CHECK((entry < 0 ? column >= 0 && column < slice.rows : column == entry));
              const u32 place = diagonal.at + row;
              CHECK(place < runs.stored);
              const bool upper = diagonals.symmetric && diagonals.offsets[std::size_t(d)] > 0;
              if (entry < 0)
                pairs[place].insert({-1 - d, row});  // shared with nobody
              else
                pairs[place].insert(upper ? std::pair<i64, i64>{column, row} : std::pair<i64, i64>{row, column});
            }
          }
          for (auto& [place, users] : pairs) CHECK(users.size() == 1);
        }
      }
}

TEST("a line of a box is a run in its middle and one at each end, and the surface beside it one of each") {
  const CsrMatrix A = poisson(30, 4, 4, 7, 10);
  const InBoxes p(A, {{30, 4, 4}, {3, 1, 1}});
  auto runs_of = [&](int rank) {
    const CsrSlice slice = p.slice(rank);
    const auto runs =
        find_row_runs(p.A.view(), slice, p.A.indices.data() + slice.first_entry, i32(slice.first_row), A.n, p.by("dia"));
    return runs.diagonals.size() / 7;
  };
  // The middle box has 16 lines of 8 cells between two of the surface; at an end of the grid a line goes on in the next one.
  CHECK(runs_of(1) == std::size_t(16 * 3 + 16 * 2));
  CHECK(runs_of(0) < std::size_t(16 * 2 + 16 + 4));
}

TEST("new values in boxes take effect, and a gap stays a gap") {
  NOTE(fresh::said());
  fresh::Random random(635);
  const Boxes boxes{{9, 7, 8}, {2, 1, 2}};
  for (const char* storage : {"dia", "symdia", "constant"}) {
    CsrMatrix A = poisson(9, 7, 8, 7, 1.0), B = A;
    if (storage[0] == 'd') B.values = random.normals(A.view().nnz());
    if (storage[0] != 'd')
      for (double& v : B.values) v *= 3;
    const InBoxes p(A, boxes), q(B, boxes);
    const auto x = random.normals(A.n), into = matrices::into(p.order.cells, x);
    std::vector<double> y(x.size());
    HostEngine engine({.ranks = 4, .timeout = 20});
    engine.run([&](Rank& s) {
      CsrOperator op(s, p.A.view(), p.partition, p.by(storage));
      Vec from = op.operand(s, "x"), to = op.result(s, "y");
      auto apply = s.record([&] {
        s.run(Nothing{}, push(from));
        op.apply(s, from, to);
      });
      op.update_values(s, q.A.values.data());
      const Space& space = s.space(op.space());
      s.write(from, into.data() + space.first_row);
      s.replay(apply);
      s.read(to, y.data() + space.first_row);
    });
    CHECK(same_bits(matrices::back(p.order.cells, y), on_host(B.view(), x, 1).y));
  }
}

TEST("a product in boxes declares the bytes it moves, and says what it holds") {
  const Boxes boxes{{40, 20, 20}, {2, 1, 1}};
  const InBoxes p(poisson(40, 20, 20, 7, 1.0), boxes);
  const i64 rows = 20 * 20 * 20, face = 20 * 20;
  for (const char* storage : {"dia", "symdia", "constant"}) {
    NOTE(storage);
    const Diagonals diagonals = p.by(storage);
    HostEngine engine({.ranks = 2, .timeout = 20});
    engine.run([&](Rank& s) {
      CsrOperator op(s, p.A.view(), p.partition, diagonals);
      Vec from = op.operand(s, "x"), to = op.result(s, "y");
      auto apply = s.record([&] {
        s.run(Nothing{}, push(from));
        op.apply(s, from, to);
      });
      Ledger before = s.ledger;
      s.replay(apply);
      const i64 moved = i64(s.ledger.memory_bytes - before.memory_bytes) - 16 * rows;  // x and y aside
      const i64 values = storage[0] == 'c' ? rows : 8 * (storage[0] == 'd' ? 7 * rows : 4 * rows + 3 * face);
      const i64 for_updates = storage[0] == 'c' ? 7 * 256 * 8 : 4 * (rows + 1) + op.slice().entries;  // and the table of kinds
      CHECK(moved == op.bytes() - for_updates);
      CHECK(moved >= values + rows / 4 + 56 * 2 * face);  // a line is a run, and a cell at its end, for each of 7 diagonals 8 B
      CHECK(moved <= values + rows / 4 + 56 * 5 * face);
      CHECK(op.bytes() == CsrOperator::bytes_of(p.A.view(), op.slice(), false, true, diagonals));
    });
  }
}
