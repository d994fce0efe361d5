// The checker refuses each kind of broken recording before it runs, and accepts what is sound.
#include "sordino/runtime/check.hpp"

#include <algorithm>

#include "check.hpp"
#include "paper_engine.hpp"

using namespace sordino;

namespace {

/// y = what others sent of x, on gathered vectors: my rows are computed, and sent to all.
struct Slice {
  In x;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = x[i]; }
};
struct ReadTwo {
  In a;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = a[i]; }
};
struct GhostsInto {
  Ghost x;
  InOut y;
  SORDINO_HD void row(i32) {}
};
struct GhostsAndPush {
  Ghost x;
  Out y;
  SORDINO_HD Sums<1> row(i32) { return {}; }
};
struct SendAhead {
  Sent<double> sent;
  Foreign<const double, Access::arrived> arrived;
  Out y;
  SORDINO_HD void row(i32) {}
  Cost cost() const { return {}; }
};
struct SendAndRead {
  Sent<double> sent;
  Foreign<const double, Access::ghost> both;
  Out y;
  SORDINO_HD void row(i32) {}
  Cost cost() const { return {}; }
};
struct Both {
  Get a;
  Put b;
  In x;
  Out y;
  SORDINO_HD void row(i32) {}
};

struct Bench {
  explicit Bench(int ranks = 2) : engine(ranks) {}
  paper::PaperEngine engine;
  Rank& s = engine.rank(0);
  int space = paper::space_of(s, 10);
  Exchange exchange = paper::first_rows_to_all(0, 2, 10), other_exchange = exchange;
  Vec a = s.vector("a", space), b = s.vector("b", space);
  Vec g = s.vector("g", space, &exchange), h = s.vector("h", space, &exchange), o = s.vector("o", space, &other_exchange);
  Scal x = s.scalar("x", 1), y = s.scalar("y", 1), z = s.scalar("z", 1);

  void sum(Scal to) { s.run(paper::Square{a}, start(to)); }
  void fill(Vec v) { s.run(paper::Overwrite{v}, push(v)); }
  void send_ahead(Vec v) { s.run_split_over(space, SendAhead{v, v, a}, Split{{}, {{2, 10}}, {{0, 2}}}); }
  void use(Vec v) { s.run(paper::ReadGhosts{v, a}); }
  template <class B>
  void once(B body) {
    auto r = s.record(body);
    s.replay(r);
  }
  template <class B>
  void loop(B body, const Rotation& rotation = {}) {
    auto r = s.loop(rotation, body);
    s.replay(r, 3);
  }
};

}  // namespace

// --- reductions
// ---------------------------------------------------------------------------------------------------------------

TEST("a reduction that a loop never finishes is refused") {
  Bench k;
  CHECK_THROWS(k.loop([&] { k.sum(k.x); }), Error, "the reduction into 'x' is never finished");
}

TEST("a reduction started twice before it is finished is refused") {
  Bench k;
  auto twice = [&] {
    k.sum(k.x);
    k.sum(k.x);
    k.s.wait(k.x);
  };
  CHECK_THROWS(k.once(twice), Error, "Square starts the reduction into 'x' again before it is finished");
  Bench l;
  CHECK_THROWS(l.loop([&] { l.sum(l.x), l.sum(l.x), l.s.wait(l.x); }), Error, "again before it is finished");
}

TEST("a finish without a start is refused, and a second finish") {
  Bench k;
  k.once([&] { k.sum(k.x), k.s.wait(k.x); });
  CHECK_THROWS(k.once([&] { k.s.wait(k.x); }), Error, "Wait finishes the reduction into 'x' twice, or without a start");
  Bench l;
  CHECK_THROWS(l.once([&] { l.sum(l.x), l.s.wait(l.x), l.s.wait(l.x); }), Error, "twice, or without a start");
  Bench m;  // carried by nobody into the loop's first iteration
  m.once([&] { m.sum(m.x), m.s.wait(m.x); });
  CHECK_THROWS(m.loop([&] { m.s.wait(m.x), m.sum(m.x); }), Error, "without a start");
}

TEST("a reduction may be carried from recording to recording, and around a loop") {
  Bench k;
  k.once([&] { k.sum(k.x); });
  k.loop([&] { k.s.wait(k.x), k.sum(k.x); });
  k.once([&] { k.sum(k.x); });  // the loop has drained what it carried
  k.once([&] { k.s.wait(k.x); });
}

TEST("a scalar is not read while its reduction is open, by commands or exit tests") {
  Bench k;
  CHECK_THROWS(k.once([&] { k.sum(k.x), k.s.run(paper::Use{k.x}), k.s.wait(k.x); }), Error,
               "Use reads 'x' while its reduction is open");
  Bench l;
  CHECK_THROWS(l.loop([&] {
    l.sum(l.x);
    l.s.exit_if(paper::Small{l.x});
    l.s.run(paper::Use{l.y});
    l.s.wait(l.x);
  }),
               Error, "while its reduction is open");
  Bench ended_by_the_same_command;
  ended_by_the_same_command.loop([&] {
    auto& n = ended_by_the_same_command;
    n.sum(n.x);
    n.s.exit_if(paper::Small{n.x});
    n.s.wait(n.x);
  });
  Bench m;
  m.loop([&] { m.sum(m.x), m.s.run(paper::Use{last(m.x)}), m.s.wait(m.x); });  // the last value is another matter
}

TEST("a loop is not left with a reduction open") {
  Bench k;
  CHECK_THROWS(k.loop([&] {
    k.sum(k.x);
    k.s.exit_if(paper::Small{k.y});
    k.s.run(paper::Use{k.z});
    k.s.wait(k.x);
  }),
               Error, "may leave the loop with the reduction into 'x' open");
  Bench carried;
  carried.once([&] { carried.sum(carried.x); });
  CHECK_THROWS(carried.loop([&] {
    carried.s.exit_if(paper::Small{carried.y});
    carried.s.run(paper::Use{carried.z});
    carried.s.wait(carried.x);
    carried.sum(carried.x);
  }),
               Error, "with the reduction into 'x' open");
}

TEST("a scalar that a command reads and writes must be rotated") {
  Bench k;
  CHECK_THROWS(k.once([&] { k.s.run(Both{k.x, k.x, k.a, k.b}); }), Error, "reads and writes the scalar 'x' (rotate it)");
  k.once([&] { k.s.run(Both{k.x, k.y, k.a, k.b}); });
  k.once([&] { k.s.run(paper::Move{k.x, k.x}); });  // one thread's work: nobody else reads it meanwhile
}

TEST("predicated commands are checked with and without") {
  Bench k;
  CHECK_THROWS(k.loop([&] {
    k.sum(k.x);
    k.s.when(4, [&] { k.s.wait(k.x); });
  }),
               Error, "again before it is finished");  // without
  Bench l;
  CHECK_THROWS(l.loop([&] { l.s.when(4, [&] { l.s.wait(l.x), l.sum(l.x); }); }), Error, "finish of 'x'");
}

// --- ghosts
// -------------------------------------------------------------------------------------------------------------------

TEST("ghosts that nobody pushes are refused") {
  Bench k;
  CHECK_THROWS(k.once([&] { k.use(k.g); }), Error, "ReadGhosts waits for the ghosts of 'g', which nobody pushes");
  Bench l;
  CHECK_THROWS(l.once([&] { l.fill(l.g), l.use(l.g), l.use(l.g); }), Error, "which nobody pushes");
}

TEST("a vector pushed twice before it is read is refused") {
  Bench k;
  CHECK_THROWS(k.once([&] { k.fill(k.g), k.fill(k.g), k.use(k.g); }), Error, "pushes 'g' twice before it is read");
  Bench l;  // in a loop that never reads it
  CHECK_THROWS(l.loop([&] { l.fill(l.g); }), Error, "pushes 'g' twice before it is read");
}

TEST("ghosts are not overwritten before a neighbour has read them") {
  Bench k;
  CHECK_THROWS(k.loop([&] { k.fill(k.g), k.use(k.g); }), Error,
               "may overwrite the ghosts of 'g' before a neighbour has read them");
  Bench rotated;
  Rotation turn{.vectors = {{rotated.g, rotated.h}}};
  rotated.once([&] { rotated.fill(rotated.h); });
  rotated.loop([&] { rotated.use(rotated.h), rotated.fill(rotated.g); }, turn);
  Bench too_early;  // when it pushes, it knows only that its neighbours were in the iteration before
  turn = {.vectors = {{too_early.g, too_early.h}}};
  too_early.once([&] { too_early.fill(too_early.h); });
  CHECK_THROWS(too_early.loop([&] { too_early.fill(too_early.g), too_early.use(too_early.h); }, turn), Error, "may overwrite");
  Bench reduced;
  reduced.loop([&] {
    reduced.fill(reduced.g), reduced.use(reduced.g);
    reduced.sum(reduced.x), reduced.s.wait(reduced.x);
  });
  Bench alone(1);
  alone.loop([&] { alone.fill(alone.g), alone.use(alone.g); });
}

TEST("only a meeting that all began after reading allows to overwrite") {
  Bench too_early;  // the reduction starts before the ghosts are read
  CHECK_THROWS(too_early.loop([&] {
    too_early.fill(too_early.g);
    too_early.sum(too_early.x);
    too_early.use(too_early.g);
    too_early.s.wait(too_early.x);
  }),
               Error, "may overwrite");
  Bench too_late;  // it ends after the push
  CHECK_THROWS(too_late.loop([&] {
    too_late.fill(too_late.g);
    too_late.use(too_late.g);
    too_late.sum(too_late.x);
    too_late.s.run(paper::Overwrite{too_late.b});
    too_late.fill(too_late.h);
    too_late.s.wait(too_late.x);
    too_late.use(too_late.h);
    too_late.fill(too_late.h);
    too_late.use(too_late.h);
  }),
               Error, "may overwrite the ghosts of 'h'");
  Bench other;  // an exchange with other peers says nothing of these
  CHECK_THROWS(other.loop([&] { other.fill(other.g), other.use(other.g), other.fill(other.o), other.use(other.o); }), Error,
               "may overwrite");
  Bench same;  // one with the same peers does: g and h take turns
  same.loop([&] { same.fill(same.g), same.use(same.g), same.fill(same.h), same.use(same.h); });
}

TEST("a command that reads ghosts neither writes nor pushes them") {
  Bench k;
  CHECK_THROWS(k.once([&] { k.fill(k.g), k.s.run(GhostsInto{k.g, k.g}); }), Error, "reads the ghosts of 'g' and writes it");
  Bench l;
  CHECK_THROWS(l.once([&] { l.fill(l.g), l.s.run(paper::ReadGhosts{l.g, l.a}, push(l.g)); }), Error,
               "reads and pushes the ghosts of 'g'");
  Bench m;  // under another name: h is the buffer that g was
  CHECK_THROWS(m.loop([&] { m.fill(m.g), m.s.run(GhostsInto{m.g, m.g}); }, {.vectors = {{m.g, m.h}}}), Error, "and writes it");
}

TEST("a command may send a vector before it waits for its ghosts, but not twice the same one in a row") {
  Bench k;  // a neighbour that is late still reads what the command before brought
  CHECK_THROWS(k.loop([&] { k.send_ahead(k.g); }), Error, "may overwrite the ghosts of 'g'");
  Bench turns;
  turns.loop([&] { turns.send_ahead(turns.g), turns.send_ahead(turns.h); });
  Bench rotated;
  rotated.loop([&] { rotated.send_ahead(rotated.g); }, {.vectors = {{rotated.g, rotated.h}}});
  Bench late;  // awaited first: then the neighbours wait for each other
  late.s.mutate = [](Recording& r) {
    for (auto& c : r.commands) {
      auto at = [&](Op op) { return std::find_if(c.phases.begin(), c.phases.end(), [&](auto& p) { return p.op == op; }); };
      std::iter_swap(at(Op::put), at(Op::await));
    }
  };
  CHECK_THROWS(late.once([&] { late.send_ahead(late.g); }), Error, "reads the ghosts of 'g' and writes it");
  Bench own;  // nothing orders its own rows behind those that have just been computed
  CHECK_THROWS(
      own.once([&] { own.s.run_split_over(own.space, SendAndRead{own.g, own.g, own.a}, Split{{}, {{2, 10}}, {{0, 2}}}); }),
      Error, "reads the ghosts of 'g' and writes it");
}

TEST("a reduction started in the command that reads ghosts allows to overwrite them once it has ended") {
  Bench k;
  k.loop([&] {
    k.fill(k.g);
    k.s.run(GhostsAndPush{k.g, k.a}, start(k.x));
    k.s.wait(k.x);
  });
}

// --- gathered vectors: others write into all of my rows
// -------------------------------------------------------------------------

namespace {

struct Gathered {
  paper::PaperEngine engine{2};
  Rank& s = engine.rank(0);
  int space = paper::space_of(s, 10, true);
  Exchange exchange = paper::first_rows_to_all(0, 2, 10);
  Vec a = s.vector("a", space), b = s.vector("b", space);
  Vec v = s.vector("v", space, &exchange), w = s.vector("w", space, &exchange);
  Split mine{{{0, 5}}, {}};

  void product(Vec y) {
    s.run_split(Slice{a, y}, mine);
    s.push_last(y);
  }
  void gather(Vec y) { s.run(paper::ReadWhole{y, b}); }
  void read(Vec y) { s.run(ReadTwo{y, b}); }
  template <class B>
  void once(B body) {
    auto r = s.record(body);
    s.replay(r);
  }
};

}  // namespace

TEST("a gathered vector is neither read nor filled before it has arrived") {
  Gathered k;
  CHECK_THROWS(k.once([&] { k.product(k.v), k.read(k.v), k.gather(k.v); }), Error,
               "reads 'v' before all ranks' rows have arrived");
  Gathered f;
  CHECK_THROWS(f.once([&] { f.product(f.v), f.s.run(paper::Overwrite{f.v}), f.gather(f.v); }), Error,
               "writes 'v' before all ranks' rows have arrived");
  Gathered l;
  l.once([&] { l.product(l.v), l.gather(l.v), l.read(l.v); });
}

TEST("a gathered vector read through In is not overwritten while a neighbour may still read it") {
  Gathered k;
  CHECK_THROWS(k.once([&] { k.product(k.v), k.gather(k.v), k.read(k.v), k.product(k.v), k.gather(k.v); }), Error,
               "may overwrite the ghosts of 'v'");
  Gathered l;  // w's gather began after the first read of v, but before the second
  CHECK_THROWS(
      l.once([&] { l.product(l.v), l.gather(l.v), l.product(l.w), l.read(l.v), l.gather(l.w), l.product(l.v), l.gather(l.v); }),
      Error, "may overwrite the ghosts of 'v'");
  Gathered m;
  m.once([&] { m.product(m.v), m.gather(m.v), m.read(m.v), m.product(m.w), m.gather(m.w), m.product(m.v), m.gather(m.v); });
}

TEST("a gathered vector that every rank fills itself is not overwritten before all have done so") {
  Gathered k;
  CHECK_THROWS(k.once([&] { k.s.run(paper::Overwrite{k.v}), k.product(k.v), k.gather(k.v); }), Error, "may overwrite");
  Gathered l;
  l.once([&] { l.s.run(paper::Overwrite{l.v}), l.product(l.w), l.gather(l.w), l.product(l.v), l.gather(l.v); });
}

TEST("a reduction on a replicated space meets nobody") {
  Gathered k;
  Scal x = k.s.scalar("x", 1);
  CHECK_THROWS(k.once([&] {
    k.product(k.v), k.gather(k.v);
    k.s.run(paper::Square{k.b}, start(x));
    k.s.wait(x);
    k.product(k.v), k.gather(k.v);
  }),
               Error, "may overwrite");
}

// --- what a recording finds when it begins
// ---------------------------------------------------------------------------------------

TEST("a recording that was fine once is refused where it finds no open reduction") {
  Bench k;
  auto begin = k.s.record([&] { k.sum(k.x); });
  auto end = k.s.record([&] { k.s.wait(k.x); });
  for (int round = 0; round < 3; round++) {
    k.s.replay(begin);
    k.s.replay(end);
  }
  CHECK_THROWS(k.s.replay(end), Error, "twice, or without a start");
  k.s.replay(begin);
  CHECK_THROWS(k.s.replay(begin), Error, "again before it is finished");
  k.s.replay(end);
}

TEST("a recording that was fine once is refused where nobody has pushed") {
  Bench k;
  auto begin = k.s.record([&] { k.fill(k.g); });
  auto end = k.s.record([&] { k.use(k.g); });
  k.s.replay(begin);
  k.s.replay(end);
  CHECK_THROWS(k.s.replay(end), Error, "which nobody pushes");
}

TEST("an unchecked rank records and replays what it is told") {
  Bench k;
  k.s.checking = false;
  k.once([&] { k.sum(k.x), k.sum(k.x); });
}
