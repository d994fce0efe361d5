// Reads, writes, hazards and bytes come from the types of a functor's fields.
#include "sordino/runtime/fields.hpp"

#include "check.hpp"
#include "paper_engine.hpp"
#include "sordino/runtime/columns.hpp"

using namespace sordino;

namespace {

struct One {
  double a;
};
struct Three {
  double a;
  int b;
  float c;
};
struct Nested {
  In x;
  Get s;
  Out y;
  Sums<3>* p;
};
struct Ten {
  int a, b, c, d, e, f, g, h, i, j;
};
struct TwentyFour {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x;
};
struct ByHand {
  int twice[2] = {5, 6};
  template <class V>
  void fields(V&& visit) {
    visit(twice[0]);
    visit(twice[1]);
  }
};

struct OfColumns {  // a group of fields counts as its members
  Gets<4> a;
  InOf<Several<double, 4>> x;
  Puts<2> b;
  Several<double, 4> local = {};
};

template <class F>
int count(F f) {
  int n = 0;
  each_field(f, [&](auto&) { n++; });
  return n;
}

struct Everything {
  In in;
  Scaling unset, set;
  Ghost ghost;
  Whole whole;
  Out out;
  InOut inout;
  Get get, ended, last_one;
  Put put;
  double local = 0;
  static constexpr double flops = 3;
  SORDINO_HD void row(i32) {}
};

struct Flops {
  Out x;
  static constexpr double flops = 7;
  SORDINO_HD void row(i32) {}
};

/// A recording of one functor, on a rank of two with 10 rows.
struct Bench {
  paper::PaperEngine engine{2};
  Rank& s = engine.rank(0);
  int space = paper::space_of(s, 10);
  Exchange exchange = paper::first_rows_to_all(0, 2, 10);
  Vec a = s.vector("a", space), b = s.vector("b", space), c = s.vector("c", space), d = s.vector("d", space);
  Vec g = s.vector("g", space, &exchange);
  Scal x = s.scalar("x", 1), y = s.scalar("y", 1), z = s.scalar("z", 1), w = s.scalar("w", 1);

  template <class B>
  Command only(B body) {
    auto r = s.record(body);
    REQUIRE(r.recording().commands.size() == 1);
    return r.recording().commands[0];
  }
};

std::vector<Op> ops(const Command& c) {
  std::vector<Op> o;
  for (auto& p : c.phases) o.push_back(p.op);
  return o;
}

}  // namespace

TEST("the fields of an aggregate are visited in order, however many there are") {
  CHECK(count(One{}) == 1);
  CHECK(count(Three{}) == 3);
  CHECK(count(Nested{}) == 4);
  CHECK(count(Ten{}) == 10);
  CHECK(count(TwentyFour{}) == 24);
  CHECK(count(OfColumns{}) == 4 + 1 + 2 + 1);
  TwentyFour f{};
  int next = 0;
  each_field(f, [&](int& x) { x = next++; });
  CHECK(f.a == 0);
  CHECK(f.l == 11);
  CHECK(f.x == 23);
}

TEST("a functor with a member fields() says itself what its fields are") {
  ByHand f;
  std::vector<int> seen;
  each_field(f, [&](int& x) { seen.push_back(x); });
  CHECK(seen == std::vector<int>{5, 6});
}

TEST("reads, writes, ghosts and scalars of a command follow from its fields") {
  Bench k;
  k.s.record([&] { k.s.run(paper::Square{k.a}, start(k.y)); });
  Command c = k.only([&] {
    k.s.run(Everything{.in = k.a,
                       .unset = {},
                       .set = k.b,
                       .ghost = k.g,
                       .whole = k.c,
                       .out = k.d,
                       .inout = k.b,
                       .get = k.x,
                       .ended = finish(k.y),
                       .last_one = last(k.w),
                       .put = k.z});
  });
  CHECK(c.name == "Everything");
  CHECK(c.reads == std::vector<int>{k.a.id, k.b.id, k.g.id, k.c.id});
  CHECK(c.writes == std::vector<int>{k.d.id, k.b.id});
  CHECK(c.ghosts == std::vector<int>{k.g.id});
  CHECK(c.gets == std::vector<int>{k.x.id});
  CHECK(c.finishes == std::vector<int>{k.y.id});
  CHECK(c.puts == std::vector<int>{k.z.id});
  CHECK(c.space == k.space);
}

TEST("a command's bytes are 8 for each row of each array, touched once") {
  Bench k;
  auto bytes = [&](auto functor) { return k.only([&] { k.s.run(functor); }).bytes; };
  CHECK(bytes(paper::Copy{k.a, k.b}) == 160);
  CHECK(bytes(paper::Overwrite{k.a}) == 80);
  struct Both {
    In a, b;
    SORDINO_HD void row(i32) {}
  };
  CHECK(bytes(Both{k.a, k.a}) == 80);  // the same array under two names
  struct Update {
    InOut x;
    SORDINO_HD void row(i32) {}
  };
  CHECK(bytes(Update{k.a}) == 160);
  struct ReadThenUpdate {
    In x;
    InOut y;
    SORDINO_HD void row(i32) {}
  };
  CHECK(bytes(ReadThenUpdate{k.a, k.a}) == 160);
  struct Scaled {
    Scaling d;
    InOut y;
    SORDINO_HD void row(i32) {}
  };
  CHECK(bytes(Scaled{{}, k.a}) == 160);
  CHECK(bytes(Scaled{k.b, k.a}) == 240);
  CHECK(k.only([&] { k.s.run(Flops{k.a}); }).flops == 70);
}

TEST("a functor without rows touches no memory and has no tasks") {
  Bench k;
  Command c = k.only([&] { k.s.run(paper::Use{k.x}); });
  CHECK(c.bytes == 0);
  CHECK(c.groups.empty());
  CHECK(ops(c) == std::vector<Op>{Op::launch, Op::head});
}

TEST("the phases of a command: finish, test, head, interior, await, boundary, put, start") {
  Bench k;
  k.s.record([&] { k.s.run(paper::Square{k.a}, start(k.y)); });
  Exchange split = k.exchange;
  split.consumer = {{{1, 10}}, {{0, 1}}};
  Vec u = k.s.vector("u", k.space, &split), v = k.s.vector("v", k.space, &k.exchange);
  struct Work {
    Get y;
    Ghost u;
    Out v;
    SORDINO_HD Sums<1> row(i32) { return {}; }
  };
  Command c = k.only([&] {
    k.s.exit_if(paper::Small{finish(k.y)});
    k.s.run(Work{k.y, u, v}, start(k.z), push(v));
  });
  CHECK(ops(c) ==
        std::vector<Op>{Op::launch, Op::finish, Op::exit_test, Op::head, Op::tasks, Op::await, Op::tasks, Op::put, Op::start});
  CHECK(c.groups[0].rows == 9);
  CHECK(c.groups[1].rows == 1);
}

TEST("rows that others wait for are computed and sent first") {
  Bench k;
  Command c = k.only([&] { k.s.run(paper::Overwrite{k.g}, push(k.g)); });
  CHECK(ops(c) == std::vector<Op>{Op::launch, Op::head, Op::tasks, Op::put, Op::tasks});
  CHECK(c.groups[0].rows == 1);
  CHECK(c.groups[1].rows == 9);
}

TEST("a reduction of two scalars is finished once, whoever asks for both") {
  Bench k;
  struct Two {
    In x;
    SORDINO_HD Sums<2> row(i32) { return {}; }
  };
  struct TwoGets {
    Get a, b;
  };
  k.s.record([&] { k.s.run(Two{k.a}, start(k.y, k.z)); });
  Command c = k.only([&] { k.s.run(TwoGets{finish(k.y), finish(k.z)}); });
  CHECK(ops(c) == std::vector<Op>{Op::launch, Op::finish, Op::head});
}

TEST("a whole vector is awaited only where ranks gather it") {
  paper::PaperEngine engine(2);
  Rank& s = engine.rank(0);
  int distributed = paper::space_of(s, 10), replicated = paper::space_of(s, 10, true);
  Exchange halo = paper::first_rows_to_all(0, 2, 10), gather = halo;
  auto ghosts = [&](int space, const Exchange* x) {
    Vec v = s.vector("v", space, x), y = s.vector("y", space);
    auto r = s.record([&] { s.run(paper::ReadWhole{v, y}); });
    return r.recording().commands[0].ghosts.size();
  };
  CHECK(ghosts(distributed, nullptr) == 0);
  CHECK(ghosts(distributed, &halo) == 0);
  CHECK(ghosts(replicated, nullptr) == 0);
  CHECK(ghosts(replicated, &gather) == 1);
}
