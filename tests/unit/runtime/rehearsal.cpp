// What was rehearsed is not compiled again, whichever way it then goes; and a rehearsal leaves nothing behind but that.
#include "sordino/runtime/rehearsal.hpp"

#include "check.hpp"
#include "paper_engine.hpp"

using namespace sordino;

namespace {

struct Bench {
  paper::PaperEngine engine{2};
  Rank& s = engine.rank(0);
  int space = paper::space_of(s, 10);
  Exchange exchange = paper::first_rows_to_all(0, 2, 10);
  Vec a = s.vector("a", space), g = s.vector("g", space, &exchange), h = s.vector("h", space, &exchange);
  Scal x = s.scalar("x", 1), y = s.scalar("y", 1), z = s.scalar("z", 1);
  // The loop is entered with rows of h and a sum under way, and carries both on. Where it exits, only rows are.
  Recorded begin = s.record([&] {
    s.run(paper::Overwrite{h}, push(h));
    s.run(paper::Square{a}, start(x));
  });
  Recorded loop = s.loop({.vectors = {{g, h}}, .scalars = {{y, z}}}, [&] {
    s.wait(x);
    s.exit_if(paper::Small{x});
    s.run(paper::ReadGhosts{h, a});
    s.run(paper::Overwrite{g}, push(g));
    s.run(paper::Square{a}, start(x));
  });
  Recorded end = s.record([&] { s.run(paper::Overwrite{g}); });

  void rehearse() {
    Rehearsal rehearsal(s);
    for (int turn = 0; turn < 2; turn++) {
      s.reset_names();
      rehearsal.replay(begin);
      rehearsal.replay(loop, turn);
      rehearsal.replay(end);
    }
  }
  /// Exits from iteration `exit`, unless `most` come before.
  void run(int most, int exit) {
    engine.exit_at = exit;
    s.reset_names();
    s.replay(begin);
    s.replay(loop, most);
    s.replay(end);
  }
};

}  // namespace

TEST("what was rehearsed is not compiled again, wherever its loop ends") {
  for (bool rehearsed : {true, false}) {
    Bench k;
    if (rehearsed) k.rehearse();
    CHECK(k.engine.replays == 0);
    const int before = k.engine.compilations;
    CHECK(before == k.s.compilations());
    if (rehearsed) CHECK(before > 4);  // begin, loop, end in both orders, and what drains
    for (int exit : {0, 1, 2, 3, 4})
      for (int most : {1, 2, 5, 6}) k.run(most, exit);
    CHECK((k.engine.compilations == before) == rehearsed);
    CHECK(k.s.compilations() == k.engine.compilations);
  }
}

TEST("stretches that were rehearsed are not compiled again, in whatever order names are, nor what drops the rest") {
  for (bool rehearsed : {true, false}) {
    Bench k;
    if (rehearsed) {
      Rehearsal rehearsal(k.s);
      rehearsal.replay(k.begin);
      for (int turn = 0; turn < 2; turn++) rehearsal.replay_stretch(k.loop, 1);
      rehearsal.drop_carried();
    }
    const int before = k.engine.compilations;
    for (int stretches : {1, 2, 3, 4}) {
      k.s.reset_names();
      k.s.replay(k.begin);
      for (int i = 0; i < stretches; i++) k.s.replay_stretch(k.loop, 1);
      k.s.drop_carried(k.loop);
    }
    CHECK((k.engine.compilations == before) == rehearsed);
  }
}

TEST("programs are prepared for all that replays may need") {
  Bench k;
  k.run(3, 0);
  CHECK(k.engine.prepared == 0);  // a replay makes only what it needs itself
  k.rehearse();
  CHECK(k.engine.prepared == 6);
}

TEST("a rehearsal leaves names and what is under way as they were, and values alone") {
  Bench k;
  k.s.replay(k.begin);  // rows and a sum are under way
  auto names = k.s.vector_map(), scalars = k.s.scalar_map();
  auto pushed = k.s.pushed, seen = k.s.seen;
  auto values = k.s.scalar_values;
  u32 started = k.s.reductions()[0].started, finished = k.s.reductions()[0].finished;
  auto unchanged = [&] {
    CHECK(k.s.vector_map() == names);
    CHECK(k.s.scalar_map() == scalars);
    CHECK(k.s.pushed == pushed);
    CHECK(k.s.seen == seen);
    CHECK(k.s.reductions()[0].started == started);
    CHECK(k.s.reductions()[0].finished == finished);
    CHECK(k.s.scalar_values == values);
  };
  {
    Rehearsal rehearsal(k.s);
    rehearsal.replay(k.loop, 3);
    CHECK(k.s.vector_map() == rotated(names, {{k.g.id, k.h.id}}, 3));
    CHECK(k.s.pushed == k.s.seen);  // drained
  }
  unchanged();
  {
    Rehearsal rehearsal(k.s);
    CHECK_THROWS(rehearsal.replay(k.begin), Error, "pushes 'h' twice before it is read");
  }
  unchanged();
  k.s.replay(k.loop, 3);
  CHECK(k.s.pushed == k.s.seen);
}

TEST("a recording of nothing needs no rehearsal, and beside a replay there is none") {
  Bench k;
  Recorded nothing = k.s.record([] {});
  Rehearsal(k.s).replay(nothing);
  CHECK(k.engine.compilations == 0);
  Replay replay = k.s.start(k.begin);
  CHECK_THROWS(Rehearsal(k.s), Error, "a replay is rehearsed while a replay is under way");
  replay.wait();
}

TEST("what is recorded while replays are rehearsed is there behind it, and nothing was replayed with it") {
  Bench k;
  Recorded late;
  Scal v;
  Vec c;
  {
    Rehearsal rehearsal(k.s);
    v = k.s.scalar("v", 1);
    c = k.s.vector("c", k.space, &k.exchange);
    late = k.s.record([&] {
      k.s.run(paper::Overwrite{c}, push(c));
      k.s.run(paper::Square{k.a}, start(v));
      k.s.wait(v);
      k.s.run(paper::ReadGhosts{c, k.a});
    });
    rehearsal.replay(late);
  }
  auto& made = k.s.reductions().back();
  CHECK(made.to == std::vector<int>{v.id});
  CHECK(made.started == 0);
  CHECK(k.s.pushed[std::size_t(c.id)] == 0);
  const int before = k.engine.compilations;
  k.s.replay(late);
  CHECK(k.engine.compilations == before);
  CHECK(k.s.reductions().back().started == 1);
  CHECK(k.s.reductions().back().finished == 1);
  CHECK(k.s.seen[std::size_t(c.id)] == 1);
}
