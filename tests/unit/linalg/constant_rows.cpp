// Matrices with few different rows, each kept once: the bits of those by rows, on any number of ranks, and what is refused.
#include "sordino/linalg/constant_rows.hpp"

#include <array>
#include <map>

#include "products.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

/// Rows of so many kinds, with gaps, which take turns after `alike` rows or, of 0, at random. What leaves the matrix at its
/// ends makes more kinds of them.
CsrMatrix of_kinds(fresh::Random& random, i64 n, int kinds, int pairs, i64 alike) {
  std::vector<std::map<i64, double>> by_offset(std::size_t(kinds), std::map<i64, double>{});
  for (int k = 0; k < pairs; k++) {
    i64 offset = random.whole(1, std::max<i64>(1, n - 1));
    for (auto& kind : by_offset)
      for (i64 o : {-offset, offset})
        if (!random.chance(0.2)) kind[o] = random.normal();
  }
  for (auto& kind : by_offset) kind[0] = random.normal();
  matrices::Rows rows(std::size_t(n), std::map<i32, double>{});
  for (i64 i = 0; i < n; i++) {
    i64 kind = alike > 0 ? i / alike % kinds : random.whole(0, kinds - 1);
    for (auto [offset, value] : by_offset[std::size_t(kind)])
      if (i + offset >= 0 && i + offset < n) rows[std::size_t(i)][i32(i + offset)] = value;
  }
  return matrices::csr(rows);
}

Diagonals constant(const CsrMatrix& A) { return diagonals_of(A.view(), "constant"); }

}  // namespace

TEST("products with rows kept once have the bits of those by rows, on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(67);
  for (i64 n : {i64(1), i64(2), i64(7), i64(8), random.whole(9, 90), random.whole(90, 3000)})
    for (int kinds : {1, 2, 9})
      for (int pairs : {0, 1, 3, 13})
        for (i64 alike : {i64(0), random.whole(1, 5), random.whole(5, 600)}) {
          CsrMatrix A = of_kinds(random, n, kinds, pairs, alike);
          auto x = random.normals(n);
          auto by_rows = on_host(A.view(), x, 1);
          for (int ranks : {1, 2, 3, 7}) {
            if (ranks > n) continue;
            NOTE("n = ", n, ", kinds = ", kinds, ", pairs = ", pairs, ", alike = ", alike, ", ranks = ", ranks);
            CHECK(same_bits(on_host(A.view(), x, ranks, false, constant(A)).y, by_rows.y));
            for (auto& all : on_host(A.view(), x, ranks, true, constant(A)).all) CHECK(same_bits(all, by_rows.y));
          }
        }
}

TEST("stencils on boxes, cut within planes, with rows kept once") {
  NOTE(fresh::said());
  fresh::Random random(68);
  for (int points : {7, 27})
    for (auto [nx, ny, nz] : {std::array<int, 3>{5, 4, 3}, {1, 1, 40}, {12, 1, 5}, {33, 18, 7}}) {
      CsrMatrix A = poisson(nx, ny, nz, points, 1.0);
      auto x = random.normals(A.n);
      auto by_rows = on_host(A.view(), x, 1);
      for (int ranks : {1, 2, 5}) CHECK(same_bits(on_host(A.view(), x, ranks, false, constant(A)).y, by_rows.y));
    }
}

TEST("the model computes the same products with rows kept once, in any order of events") {
  NOTE(fresh::said());
  fresh::Random random(69);
  CsrMatrix A = of_kinds(random, 900, 5, 3, 20);
  auto x = random.normals(900);
  auto by_rows = on_host(A.view(), x, 1);
  for (u64 seed = 0; seed < 10; seed++) {
    model::Options o;
    o.ranks = 4;
    o.seed = seed;
    o.machine.jitter_s = 5e-6;
    model::ModelEngine engine(o);
    CHECK(same_bits(product(engine, A.view(), x, false, constant(A)).y, by_rows.y));
  }
}

TEST("two products with one pass, and a unit diagonal, which stays in the table") {
  NOTE(fresh::said());
  fresh::Random random(70);
  CsrMatrix A = of_kinds(random, 700, 4, 3, 30);
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (A.indices[std::size_t(k)] == i) A.values[std::size_t(k)] = 1;
  Diagonals diagonals = constant(A);
  diagonals.unit = true;
  auto x0 = random.normals(A.n), x1 = random.normals(A.n), y0 = x0, y1 = x1;
  for (int ranks : {1, 3}) {
    HostEngine engine({.ranks = ranks});
    engine.run([&](Rank& s) {
      CsrOperator op(s, A.view(), balance(A.view(), ranks), diagonals);
      Vec from0 = op.operand(s, "x0"), from1 = op.operand(s, "x1"), to0 = op.result(s, "y0"), to1 = op.result(s, "y1");
      auto apply = s.record([&] {
        s.run(Nothing{}, push(from0));
        s.run(Nothing{}, push(from1));
        op.apply_pair(s, from0, to0, from1, to1);
      });
      i64 first = s.space(op.space()).first_row;
      s.write(from0, x0.data() + first);
      s.write(from1, x1.data() + first);
      s.replay(apply);
      s.read(to0, y0.data() + first);
      s.read(to1, y1.data() + first);
    });
    CHECK(same_bits(y0, on_host(A.view(), x0, 1).y));
    CHECK(same_bits(y1, on_host(A.view(), x1, 1).y));
  }
}

TEST("new values bring kinds of their own, fewer or more, and too many are refused") {
  NOTE(fresh::said());
  fresh::Random random(71);
  CsrMatrix A = of_kinds(random, 500, 3, 2, 40), B = A, C = A;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) B.values[std::size_t(k)] *= 1 + double(i % 7);
  C.values = random.normals(A.view().nnz());
  auto x = random.normals(A.n);
  auto wanted = on_host(B.view(), x, 1);
  for (int ranks : {1, 3}) {
    HostEngine engine({.ranks = ranks});
    std::vector<double> y(std::size_t(A.n));
    engine.run([&](Rank& s) {
      CsrOperator op(s, A.view(), balance(A.view(), ranks), constant(A));
      Vec from = op.operand(s, "x"), to = op.result(s, "y");
      auto apply = s.record([&] {
        s.run(Nothing{}, push(from));
        op.apply(s, from, to);
      });
      op.update_values(s, B.values.data());
      i64 first = s.space(op.space()).first_row;
      s.write(from, x.data() + first);
      s.replay(apply);
      s.read(to, y.data() + first);
      if (ranks == 1) CHECK_THROWS(op.update_values(s, C.values.data()), Error, "more than 256 different rows");
    });
    CHECK(same_bits(y, wanted.y));
  }
}

TEST("a product with rows kept once declares a byte a row beside x and y, and says what it holds") {
  for (int points : {7, 27}) {
    CsrMatrix A = poisson(20, 20, 20, points, 1.0);
    HostEngine engine({.ranks = 1});
    engine.run([&](Rank& s) {
      CsrOperator op(s, A.view(), balance(A.view(), 1), constant(A));
      Vec from = op.operand(s, "x"), to = op.result(s, "y");
      auto apply = s.record([&] {
        s.run(Nothing{}, push(from));
        op.apply(s, from, to);
      });
      Ledger before = s.ledger;
      s.replay(apply);
      CHECK(i64(s.ledger.memory_bytes - before.memory_bytes) == 17 * A.n);
      CHECK(op.bytes() == A.n + points * (256 * 8 + 16));
      for (bool device : {false, true})
        CHECK(op.bytes() == CsrOperator::bytes_of(A.view(), op.slice(), device, false, constant(A)));
    });
  }
}

TEST("matrices that have too many different rows, too many diagonals, or complex entries are refused in one sentence") {
  CsrMatrix A = poisson(10, 10, 10, 7, 1.0);
  CHECK(constant(A).constant && constant(A).offsets.size() == std::size_t(7));
  for (i64 i = 0; i < 300; i++) A.values[std::size_t(A.indptr[std::size_t(i)])] += 1e-3 * double(i);
  CHECK_THROWS(constant(A), Error, "at most 256 different rows, and this one has more: use storage dia");
  matrices::Rows rows(40, std::map<i32, double>{});
  for (i32 i = 0; i < 40; i++) rows[std::size_t(i)][i] = rows[0][i] = 1;
  CHECK_THROWS(constant(matrices::csr(rows)), Error, "at most 27 of them, and this one has more: use storage csr");
  CsrMatrix complex{.n = 1, .indptr = {0, 1}, .indices = {0}, .values = {1, 2}, .words = 2};
  CHECK_THROWS(constant(complex), Error, "storage constant holds real numbers: use storage csr");
}
