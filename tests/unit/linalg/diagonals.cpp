// Matrices by diagonals: the bits of those by rows, on any number of ranks, symmetric or not, with gaps.
#include "sordino/linalg/diagonals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>

#include "products.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

/// Some diagonals beside the main one, at most `reach` away, with gaps; of a symmetric matrix both of each pair.
CsrMatrix banded(fresh::Random& random, i64 n, int pairs, i64 reach, bool symmetric) {
  matrices::Rows rows(std::size_t(n), std::map<i32, double>{});
  for (i64 i = 0; i < n; i++) rows[std::size_t(i)][i32(i)] = random.normal();
  for (int k = 0; k < pairs; k++) {
    i64 offset = random.whole(1, std::max<i64>(1, reach));
    for (i64 i = 0; i + offset < n; i++) {
      if (random.chance(0.2)) continue;
      double upper = random.normal();
      rows[std::size_t(i)][i32(i + offset)] = upper;
      if (symmetric || random.chance(0.7)) rows[std::size_t(i + offset)][i32(i)] = symmetric ? upper : random.normal();
    }
  }
  return matrices::csr(rows);
}

Diagonals of(const CsrMatrix& A, bool symmetric) { return diagonals_of(A.view(), symmetric ? "symdia" : "dia"); }

/// All offsets of `count` diagonals in one matrix, and nothing else.
CsrMatrix with_diagonals(i64 n, i64 count) {
  matrices::Rows rows(std::size_t(n), std::map<i32, double>{});
  for (i64 i = 0; i < n; i++) rows[std::size_t(i)][i32(i)] = 2;
  for (i64 k = 1; k < count; k++) rows[0][i32(k)] = 1;
  return matrices::csr(rows);
}

}  // namespace

TEST("products by diagonals have the bits of those by rows, on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(60);
  for (bool symmetric : {false, true})
    for (i64 n : {i64(1), i64(2), i64(7), i64(8), random.whole(9, 90), random.whole(90, 3000)})
      for (int pairs : {0, 1, 3, 13}) {
        CsrMatrix A = banded(random, n, pairs, n - 1, symmetric);
        Diagonals diagonals = of(A, symmetric);
        auto x = random.normals(n);
        auto by_rows = on_host(A.view(), x, 1);
        for (int ranks : {1, 2, 3, 4, 7}) {
          if (ranks > n) continue;
          NOTE("n = ", n, ", pairs = ", pairs, ", ranks = ", ranks, ", symmetric = ", symmetric);
          CHECK(same_bits(on_host(A.view(), x, ranks, false, diagonals).y, by_rows.y));
          for (auto& all : on_host(A.view(), x, ranks, true, diagonals).all) CHECK(same_bits(all, by_rows.y));
        }
      }
}

TEST("a unit diagonal is multiplied by, and not kept") {
  NOTE(fresh::said());
  fresh::Random random(65);
  for (bool symmetric : {false, true})
    for (i64 n : {i64(2), i64(8), random.whole(9, 90), random.whole(90, 3000)}) {
      CsrMatrix A = banded(random, n, 3, n - 1, symmetric);
      for (i64 i = 0; i < n; i++)
        for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
          if (A.indices[std::size_t(k)] == i) A.values[std::size_t(k)] = 1;
      Diagonals kept = of(A, symmetric), unit = kept;
      unit.unit = true;
      CHECK(DiagonalPlaces(kept, n).stored - DiagonalPlaces(unit, n).stored == (n + 31) / 32 * 32);
      auto x = random.normals(n);
      auto by_rows = on_host(A.view(), x, 1);
      for (int ranks : {1, 2, 4}) {
        if (ranks > n) continue;
        NOTE("n = ", n, ", ranks = ", ranks, ", symmetric = ", symmetric);
        CHECK(same_bits(on_host(A.view(), x, ranks, false, unit).y, by_rows.y));
        for (auto& all : on_host(A.view(), x, ranks, true, unit).all) CHECK(same_bits(all, by_rows.y));
      }
    }
}

TEST("stencils on boxes, cut within planes, by diagonals") {
  NOTE(fresh::said());
  fresh::Random random(61);
  for (int points : {7, 27})
    for (auto [nx, ny, nz] : {std::array<int, 3>{5, 4, 3}, {1, 1, 40}, {12, 1, 5}, {9, 8, 7}}) {
      CsrMatrix A = poisson(nx, ny, nz, points, 50.0);
      auto x = random.normals(A.n);
      auto by_rows = on_host(A.view(), x, 1);
      for (int ranks : {1, 2, 5})
        for (bool symmetric : {false, true})
          CHECK(same_bits(on_host(A.view(), x, ranks, false, of(A, symmetric)).y, by_rows.y));
    }
}

TEST("the model computes the same products by diagonals, in any order of events") {
  NOTE(fresh::said());
  fresh::Random random(62);
  CsrMatrix A = banded(random, 900, 4, 899, true);
  auto x = random.normals(900);
  auto by_rows = on_host(A.view(), x, 1);
  for (u64 seed = 0; seed < 10; seed++)
    for (bool symmetric : {false, true}) {
      model::Options o;
      o.ranks = 4;
      o.seed = seed;
      o.machine.jitter_s = 5e-6;
      model::ModelEngine engine(o);
      CHECK(same_bits(product(engine, A.view(), x, false, of(A, symmetric)).y, by_rows.y));
    }
}

TEST("rows multiplied before the halo arrives read no ghost, even where a diagonal has a gap") {
  NOTE(fresh::said());
  fresh::Random random(63);
  for (int round = 0; round < 20; round++) {
    i64 n = random.whole(600, 3000);
    CsrMatrix A = banded(random, n, 3, random.whole(1, 40), false);
    Partition p = balance(A.view(), 3);
    HostEngine engine({.ranks = 3});
    Diagonals diagonals = of(A, false);
    std::atomic<i64> early = 0;
    engine.run([&](Rank& s) {
      CsrOperator op(s, A.view(), p, diagonals);
      Vec x = op.operand(s, "x"), y = op.result(s, "y");
      auto r = s.record([&] { op.apply(s, x, y); });
      const Command& c = r.recording().commands[0];
      i64 first = p.first_row(s.id()), rows = p.rows(s.id());
      for (auto& phase : c.phases) {
        if (phase.op == Op::await) break;
        if (phase.op != Op::tasks) continue;
        for (auto& range : *c.groups[std::size_t(phase.slot)].ranges)
          for (i64 i = range.begin; i < range.end; i++, early++)
            for (i64 offset : diagonals.offsets)
              CHECK((i + offset >= 0 && i + offset < rows) || columns_outside({{offset}}, n, first, rows).empty());
      }
    });
    CHECK(early > 0);
  }
}

TEST("new values by diagonals take effect, and a gap stays a gap") {
  NOTE(fresh::said());
  fresh::Random random(64);
  CsrMatrix A = banded(random, 500, 3, 499, false), B = A;
  B.values = random.normals(A.view().nnz());
  auto x = random.normals(500);
  auto wanted = on_host(B.view(), x, 1);
  for (int ranks : {1, 3}) {
    HostEngine engine({.ranks = ranks});
    Partition p = balance(A.view(), ranks);
    std::vector<double> y(500);
    engine.run([&](Rank& s) {
      CsrOperator op(s, A.view(), p, of(A, false));
      Vec from = op.operand(s, "x"), to = op.result(s, "y");
      auto apply = s.record([&] {
        s.run(Nothing{}, push(from));
        op.apply(s, from, to);
      });
      op.update_values(s, B.values.data());
      const Space& space = s.space(op.space());
      s.write(from, x.data() + space.first_row);
      s.replay(apply);
      s.read(to, y.data() + space.first_row);
    });
    CHECK(same_bits(y, wanted.y));
  }
}

TEST("a product by diagonals declares the bytes it moves, and says what it holds") {
  CsrMatrix A = poisson(20, 20, 20, 7, 1.0);
  const i64 n = A.n, padded = (n + 31) / 32 * 32;
  for (bool symmetric : {false, true}) {
    Diagonals diagonals = of(A, symmetric);
    HostEngine engine({.ranks = 1});
    engine.run([&](Rank& s) {
      CsrOperator op(s, A.view(), balance(A.view(), 1), diagonals);
      Vec from = op.operand(s, "x"), to = op.result(s, "y");
      auto apply = s.record([&] {
        s.run(Nothing{}, push(from));
        op.apply(s, from, to);
      });
      Ledger before = s.ledger;
      s.replay(apply);
      i64 values = DiagonalPlaces(diagonals, n).stored;
      i64 shared = 4 * n + 1 + 20 + 400;  // of a symmetric one, each diagonal with what it needs of the rows below
      CHECK((symmetric ? values >= shared && values < shared + 4 * 32 : values == 7 * padded));
      CHECK(i64(s.ledger.memory_bytes - before.memory_bytes) == 8 * values + 16 * n);
      CHECK(op.bytes() == CsrOperator::bytes_of(A.view(), op.slice(), false, false, diagonals));
    });
  }
}

TEST("a slice shorter than an offset keeps what its own rows read, and no more") {
  CsrMatrix A = matrices::csr([] {
    matrices::Rows rows(100, std::map<i32, double>{});
    for (i32 i = 0; i < 100; i++) rows[std::size_t(i)][i] = 2;
    rows[0][99] = rows[99][0] = rows[5][95] = rows[95][5] = -1;
    return rows;
  }());
  Diagonals diagonals = of(A, true);
  CHECK(diagonals.offsets == std::vector<i64>{-99, -90, 0, 90, 99});
  CHECK(DiagonalPlaces(diagonals, 32).stored == 5 * 32);
  CHECK(DiagonalPlaces(diagonals, 100).stored == (224 + 192 + 128));  // 199, 190 and 100, whole lines of 32
  auto x = fresh::Random(65).normals(100);
  auto by_rows = on_host(A.view(), x, 1);
  for (int ranks : {1, 2, 3, 8, 50, 100}) CHECK(same_bits(on_host(A.view(), x, ranks, false, diagonals).y, by_rows.y));
}

TEST("matrices that have too many diagonals, two values, or complex ones are refused in one sentence") {
  CHECK(diagonals_of(with_diagonals(40, 27).view(), "dia").offsets.size() == std::size_t(27));
  CHECK_THROWS(diagonals_of(with_diagonals(40, 28).view(), "dia"), Error,
               "at most 27 of them, and this one has more: use storage csr");
  CsrMatrix A = matrices::csr({{{0, 1.0}, {1, 2.0}}, {{0, 2.0}, {1, 3.0}}});
  CHECK(diagonals_of(A.view(), "symdia").offsets.size() == std::size_t(3));
  A.values[1] = 2.5;
  CHECK_THROWS(diagonals_of(A.view(), "symdia"), Error, "of row 0 and column 1 they differ: use storage dia");
  CsrMatrix lower = matrices::csr({{{0, 1.0}}, {{0, 2.0}, {1, 3.0}}});  // its mirror has no entry at all
  CHECK_THROWS(diagonals_of(lower.view(), "symdia"), Error, "of row 1 and column 0 they differ");
  CsrMatrix complex{.n = 1, .indptr = {0, 1}, .indices = {0}, .values = {1, 2}, .words = 2};
  CHECK_THROWS(diagonals_of(complex.view(), "dia"), Error, "storage dia holds real numbers: use storage csr");
  CHECK(diagonals_of(complex.view(), "csr").empty());
}
