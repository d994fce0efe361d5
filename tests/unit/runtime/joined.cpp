// Sums that travel with those of another command: more values than one command adds, in one reduction.
#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

struct Sum {  // how many rows there are, and the sum of a
  In a;
  SORDINO_HD Sums<2> row(i32 i) { return {1, a[i]}; }
};
struct Fill {
  double value;
  Out a;
  SORDINO_HD void row(i32 i) { a[i] = value; }
};
struct All {
  Get n, sum, rows, other;
  Put all;
  SORDINO_HD void head() { all = n + 10 * sum + 100 * rows + 1000 * other; }
};

constexpr i32 rows = 300;

struct Names {
  explicit Names(Rank& rank) : s(rank) {}
  Rank& s;
  int space = s.add_space(equal_parts(rows, s.id(), s.size()));
  Vec a = s.vector("a", space), b = s.vector("b", space);
  Scal n = s.scalar("n"), sum = s.scalar("sum"), count = s.scalar("count"), other = s.scalar("other"), all = s.scalar("all");

  void fill() {
    s.run(Fill{2, a});
    s.run(Fill{3, b});
  }
  void join_and_start() {
    s.run(Sum{a}, join(n, sum));
    s.run(Sum{b}, start(count, other));
  }
  void read() {
    s.wait(count);
    s.run(All{finish(n), sum, count, other, all});
  }
};

/// What one rank finds, in two rounds of the same recording.
double found(Rank& s) {
  Names k(s);
  auto body = s.record([&] {
    k.fill();
    k.join_and_start();
    k.read();
  });
  s.replay(body);
  s.replay(body);
  return s.get(k.all);
}

Ledger ledger_of(Engine& engine) {
  double value = 0;
  engine.run([&](Rank& s) {
    double here = found(s);
    if (s.id() == 0) value = here;
  });
  double n = double(rows) * engine.size();
  CHECK(value == n + 10 * 2 * n + 100 * n + 1000 * 3 * n);
  return engine.rank(0).ledger;
}

/// What the first replay of a recording says.
template <class B>
void replay(const B& body) {
  host::HostEngine engine({.ranks = 1});
  engine.run([&](Rank& s) {
    Names k(s);
    auto r = s.record([&] {
      k.fill();
      body(k);
    });
    s.replay(r);
  });
}

}  // namespace

TEST("joined sums arrive with those that carry them, and are counted as one reduction") {
  for (int ranks : {1, 3, 4}) {
    NOTE("ranks = ", ranks);
    host::HostEngine host({.ranks = ranks, .timeout = 20});
    Ledger l = ledger_of(host);
    CHECK(l.reductions == 2);
    CHECK(l.reduced_values == 2 * 4);
    for (u64 seed = 0; seed < 10; seed++) {
      model::Options o;
      o.ranks = ranks;
      o.seed = seed;
      model::ModelEngine model(o);
      CHECK(ledger_of(model).same_counts(l));
    }
  }
}

TEST("on the virtual clock they take the time of one reduction") {
  model::Options o;
  o.ranks = 4;
  o.machine.launch_s = 0;
  o.machine.reduction_start_s = 1e-6;
  o.machine.reduction_base_s = 20e-6;
  auto seconds = [&](bool together) {
    model::ModelEngine engine(o);
    double time = 0;
    engine.run([&](Rank& s) {
      Names k(s);
      auto body = s.record([&] {
        k.fill();
        together ? void(s.run(Sum{k.a}, join(k.n, k.sum))) : void(s.run(Sum{k.a}, start(k.n, k.sum)));
        if (!together) s.wait(k.n);
        s.run(Sum{k.b}, start(k.count, k.other));
        s.wait(k.count);
        if (together) s.wait(k.n);
      });
      double began = s.engine().now(s);
      s.replay(body);
      time = s.engine().now(s) - began;
    });
    const Ledger& l = engine.rank(0).ledger;
    CHECK_NEAR(l.exposed_reduction + l.hidden_reduction, (together ? 1 : 2) * 20e-6, 1e-9);
    return time;
  };
  CHECK_NEAR(seconds(false) - seconds(true), 21e-6, 1e-9);
}

TEST("sums that join nobody, end too early, or go alone at times are refused") {
  CHECK_THROWS(replay([](Names& k) { k.s.run(Sum{k.a}, join(k.n, k.sum)); }), Error,
               "the sums into 'n' are to travel with a reduction that no command starts");
  CHECK_THROWS(replay([](Names& k) {
                 k.join_and_start();
                 k.s.wait(k.n);
                 k.s.wait(k.count);
               }),
               Error, "Wait finishes the reduction into 'n' before that into 'count', with which it travels");
  CHECK_THROWS(replay([](Names& k) {
                 k.join_and_start();
                 k.read();
                 k.s.run(Sum{k.a}, start(k.n, k.sum));
               }),
               Error, "the sums into 'n' travel with others in one place, alone in another");
}

TEST("a loop that carries joined sums out of its end receives them") {
  host::HostEngine engine({.ranks = 3, .timeout = 20});
  engine.run([](Rank& s) {
    Names k(s);
    auto begin = s.record([&] {
      k.fill();
      k.join_and_start();
    });
    auto loop = s.loop({}, [&] {
      k.read();
      k.join_and_start();
    });
    s.replay(begin);
    s.replay(loop, 3);
    CHECK(s.get(k.n) == 3.0 * rows);
    CHECK(s.get(k.other) == 3 * 3.0 * rows);
  });
  CHECK(engine.rank(0).ledger.reductions == 4);
}
