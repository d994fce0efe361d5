// Recordings settle with each other, and are compiled once for each order of the names.
#include "check.hpp"
#include "paper_engine.hpp"

using namespace sordino;

namespace {

struct Bench {
  explicit Bench(int ranks = 2) : engine(ranks) {}
  paper::PaperEngine engine;
  Rank& s = engine.rank(0);
  int space = paper::space_of(s, 10);
  Exchange exchange = paper::first_rows_to_all(0, 2, 10);
  Vec a = s.vector("a", space), g = s.vector("g", space, &exchange), h = s.vector("h", space, &exchange);
  Scal x = s.scalar("x", 1), y = s.scalar("y", 1);

  void meet() { s.run(paper::Square{a}, start(x)), s.wait(x); }
  void fill(Vec v) { s.run(paper::Overwrite{v}, push(v)); }
  void use(Vec v) { s.run(paper::ReadGhosts{v, a}); }
  /// Barriers between recordings while they are replayed.
  int barriers(std::initializer_list<Recorded*> order) {
    int before = engine.barriers;
    for (auto* r : order) s.replay(*r, 2);
    return engine.barriers - before;
  }
};

}  // namespace

TEST("two recordings that push and read the same vector meet in between") {
  Bench k;
  auto r = k.s.record([&] { k.fill(k.g), k.use(k.g); });
  CHECK(k.barriers({&r}) == 0);
  CHECK(k.barriers({&r}) == 1);
  CHECK(k.barriers({&r, &r, &r}) == 3);
}

TEST("recordings that end with a reduction need not meet") {
  Bench k;
  auto r = k.s.record([&] { k.fill(k.g), k.use(k.g), k.meet(); });
  CHECK(k.barriers({&r, &r, &r}) == 0);
}

TEST("a recording that begins with a reduction need not meet the one before") {
  Bench k;
  auto r = k.s.record([&] { k.fill(k.g), k.use(k.g); });
  auto late = k.s.record([&] { k.meet(), k.fill(k.g), k.use(k.g); });
  CHECK(k.barriers({&r, &late}) == 0);
}

TEST("recordings of different vectors need not meet") {
  Bench k;
  auto g = k.s.record([&] { k.fill(k.g), k.use(k.g); }), h = k.s.record([&] { k.fill(k.h), k.use(k.h); });
  CHECK(k.barriers({&g, &h}) == 0);
  CHECK(k.barriers({&g}) == 1);  // g's ghosts of two recordings ago may still be read
}

TEST("one meeting settles all that was before") {
  Bench k;
  auto g = k.s.record([&] { k.fill(k.g), k.use(k.g); }), h = k.s.record([&] { k.fill(k.h), k.use(k.h); });
  CHECK(k.barriers({&g, &h, &g}) == 1);
  CHECK(k.barriers({&h}) == 0);
  CHECK(k.barriers({&h}) == 1);
}

TEST("a loop may exit anywhere, so what it reads is unsettled even if a reduction follows") {
  Bench k;
  auto loop = k.s.loop({}, [&] {
    k.fill(k.g), k.use(k.g);
    k.s.exit_if(paper::Small{k.y});
    k.meet();
  });
  auto r = k.s.record([&] { k.fill(k.g), k.use(k.g); });
  CHECK(k.barriers({&loop, &r}) == 1);
}

TEST("buffers, not names, are settled") {
  Bench k;
  auto turn = k.s.loop({.vectors = {{k.g, k.h}}}, [&] { k.s.run(paper::Overwrite{k.a}); });
  auto g = k.s.record([&] { k.fill(k.g), k.use(k.g); }), h = k.s.record([&] { k.fill(k.h), k.use(k.h); });
  k.s.replay(g);
  k.s.replay(turn, 1);  // h means g's buffer now
  CHECK(k.barriers({&g}) == 0);
  CHECK(k.barriers({&h}) == 1);
}

TEST("gathered vectors settle like ghosts") {
  paper::PaperEngine engine(2);
  Rank& s = engine.rank(0);
  int space = paper::space_of(s, 10, true);
  Exchange x = paper::first_rows_to_all(0, 2, 10);
  Vec v = s.vector("v", space, &x), w = s.vector("w", space);
  auto gather = s.record([&] {
    s.run(paper::Use{s.scalar("one", 1)}, push(v));
    s.run(paper::ReadWhole{v, w});
  });
  auto reads = s.record([&] { s.run(paper::Copy{v, w}); });
  s.replay(gather);
  int before = engine.barriers;
  s.replay(reads);
  CHECK(engine.barriers == before);
  s.replay(gather);
  CHECK(engine.barriers == before + 1);
}

TEST("alone, a rank meets nobody") {
  Bench k(1);
  auto r = k.s.record([&] { k.fill(k.g), k.use(k.g); });
  CHECK(k.barriers({&r, &r, &r}) == 0);
}

// --- compiled once
// ------------------------------------------------------------------------------------------------------------

TEST("1,000 replays compile once") {
  Bench k;
  auto r = k.s.record([&] { k.s.run(paper::Overwrite{k.a}); });
  for (int i = 0; i < 1000; i++) k.s.replay(r);
  CHECK(k.engine.compilations == 1);
  CHECK(k.engine.replays == 1000);
}

TEST("a rotating loop is compiled once for each order in which it finds the names") {
  Bench k;
  auto loop = k.s.loop({.vectors = {{k.g, k.h}}, .scalars = {{k.x, k.y}}}, [&] { k.s.run(paper::Overwrite{k.g}); });
  for (int i = 0; i < 1000; i++) k.s.replay(loop, 3);
  CHECK(k.engine.compilations == 2);
  k.engine.compilations = 0;
  for (int i = 0; i < 1000; i++) {
    k.s.reset_names();
    k.s.replay(loop, 3);
  }
  CHECK(k.engine.compilations == 0);
}

TEST("what a loop carried over is drained by one more recording, compiled once") {
  Bench k;
  auto begin = k.s.record([&] { k.fill(k.h), k.s.run(paper::Square{k.a}, start(k.x)); });
  auto loop = k.s.loop({.vectors = {{k.g, k.h}}}, [&] {
    k.use(k.h);
    k.s.wait(k.x);
    k.s.run(paper::Overwrite{k.g}, push(k.g));
    k.s.run(paper::Square{k.a}, start(k.x));
  });
  for (int i = 0; i < 100; i++) {
    k.s.reset_names();
    k.s.replay(begin);
    k.s.replay(loop, 4);
    CHECK(k.s.reductions()[0].started == k.s.reductions()[0].finished);
    CHECK(k.s.pushed == k.s.seen);
  }
  CHECK(k.engine.compilations == 3);
  CHECK(k.engine.replays == 300);
}

TEST("a loop of no iterations, and a recording of nothing, do nothing") {
  Bench k;
  auto loop = k.s.loop({.vectors = {{k.g, k.h}}}, [&] { k.s.run(paper::Overwrite{k.g}); });
  auto nothing = k.s.record([&] {});
  CHECK(k.s.replay(loop, 0).iterations == 0);
  CHECK(!k.s.replay(loop, 0).exited());
  k.s.replay(nothing);
  CHECK(k.engine.replays == 0);
  CHECK(k.s.vector_map() == std::vector<int>{0, 1, 2});
}

TEST("copies of a recording that was compiled share its programs") {
  Bench k;
  auto r = k.s.record([&] { k.s.run(paper::Overwrite{k.a}); });
  k.s.replay(r);
  auto copy = r;
  k.s.replay(copy);
  CHECK(k.engine.compilations == 1);
}
