// A program on two queues: x += alpha p leaves the critical path, and the device is shared while both compute.
#include "check.hpp"
#include "runs.hpp"

namespace {

using namespace sordino;
using programs::Shape;

constexpr double us = 1e-6, tiny = 1e-12;
constexpr double reduction = 2 * us;

struct Residual {  // r -= alpha q, z = d r
  Get rz, pq;
  Put alpha;
  In q, d;
  InOut r;
  Out z;
  double a = 0;
  SORDINO_HD void head() {
    a = rz / pq;
    alpha = a;
  }
  SORDINO_HD Sums<2> row(i32 i) {
    double ri = r[i] - a * q[i], zi = d[i] * ri;
    r[i] = ri;
    z[i] = zi;
    return {ri * zi, ri * ri};
  }
};

struct Solution {  // x += alpha p
  Get alpha;
  In p;
  InOut x;
  SORDINO_HD void row(i32 i) { x[i] += alpha * p[i]; }
};

/// Classic PCG whose update of x goes to `queue`. Returns x's sum of squares in `xx`.
Outcome pcg(Rank& s, const Shape& shape, double rtol, int max, int queue, double* xx = nullptr) {
  programs::System k(s, shape);
  Vec r = k.A.vector(s, "r"), z = k.A.vector(s, "z"), p = k.A.operand(s, "p"), q = k.A.vector(s, "q");
  Scal pq = s.scalar("pq"), rz = s.scalar("rz"), rr = s.scalar("rr"), rz_old = s.scalar("rz_old"), bb = s.scalar("bb");
  Scal target = s.scalar("target", 0.0), alpha = s.scalar("alpha"), norm = s.scalar("xx");
  Recorded begin = s.record([&] {
    s.run(programs::Begin{.b = k.b, .d = k.d, .x = k.x, .r = r, .p = p}, start(rz_old, bb), push(p));
    s.wait(rz_old);
  });
  Recorded loop = s.loop({.scalars = {{rz, rz_old}}}, [&] {
    k.A.apply(s, p, q, start(dot(p, q) >> pq));
    s.run(Residual{.rz = rz_old, .pq = finish(pq), .alpha = alpha, .q = q, .d = k.d, .r = r, .z = z}, start(rz, rr));
    s.on(queue, [&] { s.run(Solution{.alpha = alpha, .p = p, .x = k.x}); });
    s.exit_if(programs::Below{finish(rr), target});
    s.run(programs::Direction{.rz = rz, .rz_old = rz_old, .z = z, .p = p}, push(p));
  });
  Recorded check = s.record([&] {
    s.dots(dot(k.x, k.x) >> norm);
    s.wait(norm);
  });
  s.replay(begin);
  if (s.engine().arithmetic()) s.set(target, rtol * rtol * s.get(bb));
  Outcome out = s.replay(loop, max);
  s.replay(check);
  if (xx && s.id() == 0) *xx = s.get(norm);
  return out;
}

model::Options described(const Shape& shape) {
  model::Options o;
  o.ranks = 4;
  o.machine.launch_s = o.machine.put_overhead_s = 0;
  o.machine.memory_bandwidth = programs::operator_bytes(shape, shape.rows() / 4) / (5 * us);
  o.machine.reduction_base_s = reduction;
  o.machine.link_latency_s = 0.1 * us;
  return o;
}

}  // namespace

TEST("an update on a second queue takes place while the first waits for a reduction") {
  Shape shape;
  model::Options o = described(shape);
  double per_byte = double(shape.rows() / 4) / o.machine.memory_bandwidth;
  double critical = (shape.matrix_bytes + 16 + 40 + 24) * per_byte, update = 24 * per_byte;
  REQUIRE(update < reduction);
  auto on = [&](int queue) {
    return runs::per_iteration(o, [&](Rank& s, int max) { return pcg(s, shape, 0, max, queue); }, 1);
  };
  CHECK_NEAR(on(0).time, critical + update + 2 * reduction - update,
             tiny);  // one queue: it hides a part of the second reduction
  CHECK_NEAR(on(0).exposed_reduction, 2 * reduction - update, tiny);
  CHECK_NEAR(on(1).time, critical + 2 * reduction, tiny);  // two queues: the same, for the next command waits for the update
  CHECK_NEAR(on(1).exposed_reduction, 2 * reduction - update, tiny);
}

TEST("queues that compute at the same time share the device, or wait for a worker") {
  Shape shape;
  model::Options o = described(shape);
  double unit = 24 * double(shape.rows() / 4) / o.machine.memory_bandwidth;
  // Three independent updates, on three queues or one: the bandwidth is all used, so it takes as long either way.
  for (int workers : {1, 2, 3}) {
    o.machine.workers = workers;
    for (int queues : {1, 2, 3}) {
      NOTE("workers = ", workers, ", queues = ", queues);
      auto it = runs::per_iteration(
          o,
          [&](Rank& s, int max) {
            slabs::Slab A(s, shape);
            Scal a = s.scalar("a", 1);
            std::vector<Vec> x, y;
            for (int k = 0; k < 3; k++) x.push_back(A.vector(s, "x")), y.push_back(A.vector(s, "y"));
            Recorded loop = s.loop({}, [&] {
              for (int k = 0; k < 3; k++) s.on(k % queues, [&] { s.run(Solution{.alpha = a, .p = x[k], .x = y[k]}); });
            });
            return s.replay(loop, max);
          },
          2);
      CHECK_NEAR(it.time, 3 * unit, tiny);
    }
  }
}

TEST("two queues give the same bits as one, in every order of events") {
  Shape shape;
  double expected = 0;
  auto reference = runs::on_host(2, [&](Rank& s) { return pcg(s, shape, 1e-8, 200, 0, &expected); });
  REQUIRE(reference.history.size() > 10);
  for (int ranks : {1, 2, 3})
    for (u64 seed = 0; seed <= 20; seed++) {
      NOTE("ranks = ", ranks, ", seed = ", seed);
      model::Options o = described(shape);
      o.ranks = ranks;
      o.seed = seed;
      o.machine.jitter_s = seed % 2 ? 5 * us : 0;
      double xx = 0;
      auto r = runs::on_model(o, [&](Rank& s) { return pcg(s, shape, 1e-8, 200, 1, &xx); });
      CHECK(runs::same_bits(r.history, reference.history));
      CHECK(xx == expected);
    }
}

namespace {

struct Ones {
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = 1; }
};
struct SumAndSquares {
  In x;
  SORDINO_HD Sums<2> row(i32 i) { return {x[i], x[i] * x[i]}; }
};
struct Keep {
  Get s;
  Put kept;
  SORDINO_HD void head() { kept = double(s); }
};

}  // namespace

// The queue that starts reductions has nothing else to wait for: only that a slot has two epochs keeps it back.
TEST("a queue does not start a reduction again before another queue has finished it") {
  Shape shape;
  for (u64 seed = 0; seed <= 10; seed++) {
    NOTE("seed = ", seed);
    model::Options o = described(shape);
    o.seed = seed;
    auto r = runs::on_model(o, [&](Rank& s) {
      slabs::Slab A(s, shape);
      Vec x = A.vector(s, "x");
      Scal sum = s.scalar("sum"), squares = s.scalar("squares");
      Recorded loop = s.loop({}, [&] {
        s.on(1, [&] { s.run(SumAndSquares{x}, start(sum, squares)); });
        s.wait(sum);
      });
      return s.replay(loop, 10);
    });
    CHECK(r.ledgers[0].reductions == 10);
  }
}

TEST("a queue that reads any sum of a reduction waits for the queue that finishes it") {
  Shape shape;
  for (u64 seed = 0; seed <= 20; seed++) {
    NOTE("seed = ", seed);
    model::Options o = described(shape);
    o.seed = seed;
    runs::on_model(o, [&](Rank& s) {
      slabs::Slab A(s, shape);
      Vec x = A.vector(s, "x");
      Scal sum = s.scalar("sum"), squares = s.scalar("squares"), kept = s.scalar("kept");
      Recorded loop = s.loop({}, [&] {
        s.run(Ones{x});
        s.run(SumAndSquares{x}, start(sum, squares));
        s.wait(sum);
        s.on(1, [&] { s.run(Keep{.s = squares, .kept = kept}); });
      });
      Outcome out = s.replay(loop, 3);
      CHECK(s.get(kept) == double(shape.rows()));
      return out;
    });
  }
}
