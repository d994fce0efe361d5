// Distributed products against long double, bit for bit the same on any number of ranks.
#include "sordino/linalg/csr_operator.hpp"

#include "products.hpp"
#include "sordino/runtime/model/engine.hpp"

TEST("products are right to rounding, and the same bits on 1, 2, 3, 4 and 7 ranks") {
  NOTE(fresh::said());
  fresh::Random random(40);
  for (i64 n : {i64(1), i64(2), i64(7), i64(8), random.whole(9, 90), random.whole(1000, 3000)})
    for (auto& [name, A] : matrices::zoo(random, n)) {
      auto x = random.normals(n);
      auto reference = on_host(A.view(), x, 1);
      check_product(A.view(), x, reference.y);
      for (int ranks : {2, 3, 4, 7}) {
        if (ranks > n) continue;
        NOTE(name, ", n = ", n, ", ranks = ", ranks);
        CHECK(same_bits(on_host(A.view(), x, ranks).y, reference.y));
        auto gathered = on_host(A.view(), x, ranks, true);
        for (auto& all : gathered.all) CHECK(same_bits(all, reference.y));
      }
    }
}

TEST("products with one row a rank") {
  NOTE(fresh::said());
  fresh::Random random(41);
  for (i64 n : {2, 5, 13})
    for (auto& [name, A] : matrices::zoo(random, n)) {
      NOTE(name, ", n = ", n);
      auto x = random.normals(n);
      check_product(A.view(), x, on_host(A.view(), x, int(n)).y);
      check_product(A.view(), x, on_host(A.view(), x, int(n), true).y);
    }
}

TEST("the model computes the same products, in any order of events") {
  NOTE(fresh::said());
  fresh::Random random(42);
  CsrMatrix A = matrices::scattered(random, 700, 5, 200);
  auto x = random.normals(700);
  auto reference = on_host(A.view(), x, 1);
  for (u64 seed = 0; seed < 10; seed++)
    for (bool gathered : {false, true}) {
      NOTE("seed = ", seed);
      model::Options o;
      o.ranks = 4;
      o.seed = seed;
      o.machine.jitter_s = 5e-6;
      model::ModelEngine engine(o);
      CHECK(same_bits(product(engine, A.view(), x, gathered).y, reference.y));
    }
}

TEST("rows multiplied before the halo arrives need none of it, and every row is multiplied once") {
  NOTE(fresh::said());
  fresh::Random random(43);
  for (int round = 0; round < 5; round++) {
    i64 n = random.whole(2000, 8000);
    CsrMatrix A = matrices::scattered(random, n, 3, random.whole(1, 200));
    Partition p = balance(A.view(), 3);
    HostEngine engine({.ranks = 3});
    engine.run(
        [&](Rank& s) {
          CsrOperator op(s, A.view(), p);
          Vec x = op.operand(s, "x"), y = op.result(s, "y");
          auto r = s.record([&] { op.apply(s, x, y); });
          const Command& c = r.recording().commands[0];
          std::vector<int> times(std::size_t(p.rows(s.id())));
          bool arrived = false;
          i64 early = 0;
          for (auto& phase : c.phases) {
            arrived |= phase.op == Op::await;
            if (phase.op != Op::tasks) continue;
            for (auto& range : *c.groups[std::size_t(phase.slot)].ranges)
              for (i32 i = range.begin; i < range.end; i++) {
                times[std::size_t(i)]++;
                i64 row = p.first_row(s.id()) + i;
                for (i64 k = A.indptr[std::size_t(row)]; !arrived && k < A.indptr[std::size_t(row) + 1]; k++)
                  CHECK(p.owner(A.indices[std::size_t(k)]) == s.id());
                early += !arrived;
              }
          }
          CHECK(arrived);
          CHECK(early > 0);
          for (int t : times) CHECK(t == 1);
        },
        {});
  }
}

TEST("dot products in the epilogue take the result, and sum it in the same order on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(44);
  i64 n = random.whole(3000, 5000);
  CsrMatrix A = matrices::scattered(random, n, 4, 100);
  auto x = random.normals(n), w = random.normals(n);
  auto sums = [&](int ranks) {
    HostEngine engine({.ranks = ranks});
    std::vector<double> out(3);
    Partition p = balance(A.view(), ranks);
    engine.run(
        [&](Rank& s) {
          CsrOperator op(s, A.view(), p);
          Vec from = op.operand(s, "x"), other = s.vector("w", op.space()), y = op.result(s, "y");
          Scal xy = s.scalar("(x,y)"), yy = s.scalar("(y,y)"), wx = s.scalar("(w,x)");
          auto apply = s.record([&] {
            s.run(Nothing{}, push(from));
            op.apply(s, from, y, start(dot(from, y) >> xy, dot(y, y) >> yy, dot(other, from) >> wx));
            s.wait(xy);
          });
          i64 first = s.space(op.space()).first_row;
          s.write(from, x.data() + first);
          s.write(other, w.data() + first);
          s.replay(apply);
          std::vector<double> mine{s.get(xy), s.get(yy), s.get(wx)};
          if (s.id() == 0) out = mine;
        },
        {});
    return out;
  };
  auto one = sums(1);
  auto e = matrices::exact_product(A.view(), x);
  long double xy = 0, yy = 0, wx = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); i++) {
    xy += x[i] * e.y[i], yy += e.y[i] * e.y[i], wx += (long double)w[i] * x[i];
    size += std::abs(x[i] * e.y[i]) + e.size[i] * e.size[i] + std::abs(w[i] * x[i]);
  }
  CHECK_NEAR((long double)one[0], xy, 1e-13L * size);
  CHECK_NEAR((long double)one[1], yy, 1e-13L * size);
  CHECK_NEAR((long double)one[2], wx, 1e-13L * size);
  for (int ranks : {2, 3, 4, 7, 8}) CHECK(same_bits(sums(ranks), one));
}

TEST("two products in one pass are two products") {
  NOTE(fresh::said());
  fresh::Random random(45);
  for (auto& [name, A] : matrices::zoo(random, random.whole(20, 900)))
    for (int ranks : {1, 3}) {
      NOTE(name, ", n = ", A.n, ", ranks = ", ranks);
      auto x = random.normals(A.n), z = random.normals(A.n);
      auto Ax = on_host(A.view(), x, 1).y, Az = on_host(A.view(), z, 1).y;
      std::vector<double> y(x.size()), w(x.size());
      HostEngine engine({.ranks = ranks});
      Partition p = balance(A.view(), ranks);
      engine.run(
          [&](Rank& s) {
            CsrOperator op(s, A.view(), p);
            Vec x0 = op.operand(s, "x0"), x1 = op.operand(s, "x1"), y0 = op.result(s, "y0"), y1 = op.result(s, "y1");
            auto both = s.record([&] {
              s.run(Nothing{}, push(x0), push(x1));
              op.apply_pair(s, x0, y0, x1, y1);
            });
            i64 first = s.space(op.space()).first_row;
            s.write(x0, x.data() + first);
            s.write(x1, z.data() + first);
            s.replay(both);
            s.read(y0, y.data() + first);
            s.read(y1, w.data() + first);
          },
          {});
      CHECK(same_bits(y, Ax));
      CHECK(same_bits(w, Az));
    }
}

TEST("new values take effect in recordings that exist") {
  NOTE(fresh::said());
  fresh::Random random(46);
  for (bool gathered : {false, true})
    for (int ranks : {1, 2, 3}) {
      CsrMatrix A = matrices::scattered(random, 500, 4, 60);
      auto x = random.normals(500);
      HostEngine engine({.ranks = ranks});
      Partition p = balance(A.view(), ranks);
      std::vector<std::vector<double>> values;
      for (int k = 0; k < 5; k++) values.push_back(random.normals(A.view().nnz()));
      std::vector<std::vector<double>> y(5, std::vector<double>(500));
      engine.run(
          [&](Rank& s) {
            auto op = gathered ? CsrOperator::gathered(s, A.view(), p) : std::make_unique<CsrOperator>(s, A.view(), p);
            Vec from = op->operand(s, "x"), to = op->result(s, "y"), copy = s.vector("copy", op->space());
            auto apply = s.record([&] {
              s.run(Nothing{}, push(from));
              op->apply(s, from, to);
              s.run(Take{to, copy});
            });
            const Space& space = s.space(op->space());
            for (std::size_t k = 0; k < 5; k++) {
              op->update_values(s, values[k].data());
              s.write(from, x.data() + space.first_row);
              s.replay(apply);
              if (!gathered || s.id() == 0) s.read(copy, y[k].data() + space.first_row);
            }
          },
          {});
      for (std::size_t k = 0; k < 5; k++) {
        CsrMatrix B = A;
        B.values = values[k];
        check_product(B.view(), x, y[k]);
      }
    }
}

TEST("a gathered product has no rows of others to take dot products of") {
  CsrMatrix A = matrices::csr({{{0, 1.0}}, {{1, 1.0}}});
  HostEngine engine({.ranks = 2});
  CHECK_THROWS(engine.run(
                   [&](Rank& s) {
                     auto op = CsrOperator::gathered(s, A.view(), balance(A.view(), 2));
                     Vec x = op->operand(s, "x"), y = op->result(s, "y");
                     Scal d = s.scalar("d");
                     s.record([&] { op->apply(s, x, y, start(dot(x, y) >> d)); });
                   },
                   {}),
               Error, "take dot products after the gather");
}

TEST("a product declares 12 bytes an entry, 4 a row, and its vectors") {
  NOTE(fresh::said());
  fresh::Random random(47);
  CsrMatrix A = matrices::scattered(random, 1000, 4, 30);
  Partition p = balance(A.view(), 3);
  HostEngine engine({.ranks = 3});
  engine.run(
      [&](Rank& s) {
        CsrOperator op(s, A.view(), p);
        auto r = s.record([&] { op.apply(s, op.operand(s, "x"), op.result(s, "y")); });
        const Command& c = r.recording().commands[0];
        double rows = double(p.rows(s.id())), entries = double(op.slice().entries);
        CHECK(c.bytes == 12 * entries + 4 * rows + 16 * rows);
        CHECK(c.flops == 2 * entries);
        CHECK(op.slice().first_row == p.first_row(s.id()));
        CHECK(op.slice().first_entry == A.indptr[std::size_t(p.first_row(s.id()))]);
      },
      {});
}
