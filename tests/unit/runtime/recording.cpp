// What can be recorded, what is refused while recording, and that a rank survives the refusal.
#include "check.hpp"
#include "paper_engine.hpp"

using namespace sordino;

namespace {

struct Two {
  In x;
  SORDINO_HD Sums<2> row(i32) { return {}; }
};
struct Constant {  // sums, and no vector that says over which rows
  SORDINO_HD Sums<1> row(i32) { return {1}; }
};
struct TwoVectors {
  In a, b;
  SORDINO_HD void row(i32) {}
};
struct TwoGhosts {
  Ghost a, b;
  Out y;
  SORDINO_HD void row(i32) {}
};
struct WriteTwo {
  Out a, b;
  SORDINO_HD void row(i32) {}
};

struct Bench {
  paper::PaperEngine engine{2};
  Rank& s = engine.rank(0);
  int space = paper::space_of(s, 10), other = paper::space_of(s, 20);
  Exchange exchange = paper::first_rows_to_all(0, 2, 10), second = exchange;
  Vec a = s.vector("a", space), b = s.vector("b", space), far = s.vector("far", other);
  Vec g = s.vector("g", space, &exchange), h = s.vector("h", space, &second);
  Scal x = s.scalar("x", 1), y = s.scalar("y", 1), z = s.scalar("z", 1);

  Bench() { second.producer = {{{9, 10}}, {{0, 9}}}, second.consumer = {{{0, 9}}, {{9, 10}}}; }
};

std::string order(const Command& c) {  // "A" await, "T0" tasks of group 0, "P" put
  std::string text;
  for (auto& p : c.phases) {
    if (p.op == Op::await) text += "A";
    if (p.op == Op::put) text += "P";
    if (p.op == Op::tasks) text += "T";
  }
  return text;
}

}  // namespace

TEST("commands keep to what a vector permits, and so do vectors that trade places") {
  Bench k;
  auto& s = k.s;
  s.permit(k.a, Permission::read_only);
  s.record([&] { s.run(TwoVectors{k.a, k.b}); });
  CHECK_THROWS(s.record([&] { s.run(WriteTwo{k.b, k.a}); }), Error, "WriteTwo: it writes, and may only read, 'a'");
  CHECK_THROWS(s.record([&] { s.host({.name = "fill", .uses = {{k.a, Access::write}}, .run = [](const HostView&) {}}); }),
               Error, "fill: it writes, and may only read, 'a'");
  CHECK_THROWS(s.loop({.vectors = {{k.a, k.b}}}, [&] { s.run(TwoVectors{k.a, k.b}); }), Error, "their permissions differ");
  s.permit(k.b, Permission::read_only);
  s.loop({.vectors = {{k.a, k.b}}}, [&] { s.run(TwoVectors{k.a, k.b}); });

  s.permit(k.a, Permission::write_only);
  s.permit(k.g, Permission::write_only);
  s.permit(k.b, Permission::read_write);
  s.record([&] { s.run(WriteTwo{k.b, k.a}); });
  CHECK_THROWS(s.record([&] { s.run(TwoVectors{k.b, k.a}); }), Error, "TwoVectors: it reads, and may only write, 'a'");
  CHECK_THROWS(s.record([&] { s.run(TwoGhosts{k.g, k.h, k.b}); }), Error, "TwoGhosts: it reads, and may only write, 'g'");
  s.permit(k.a, Permission::read_write);
  s.record([&] { s.run(TwoVectors{k.b, k.a}); });
}

TEST("what cannot be recorded is refused with a sentence, and the rank goes on") {
  Bench k;
  auto& s = k.s;
  CHECK_THROWS(s.run(paper::Overwrite{k.a}), Error, "Overwrite: commands are recorded inside record() or loop()");
  CHECK_THROWS(s.record([&] { s.record([&] {}); }), Error, "recordings do not nest");
  CHECK_THROWS(s.record([&] { s.run(TwoVectors{k.a, k.far}); }), Error, "'far' lives on another space");
  CHECK_THROWS(s.record([&] { s.run(paper::Square{k.a}); }), Error,
               "Square: its rows return sums, but no reduction is started");
  CHECK_THROWS(s.record([&] { s.run(paper::Square{k.a}, start(k.x, k.y)); }), Error, "its rows return 1 sums, and 2 scalars");
  CHECK_THROWS(s.record([&] { s.run(paper::Overwrite{k.a}, start(k.x)); }), Error, "its rows return 0 sums, and 1 scalars");
  CHECK_THROWS(s.record([&] { s.run(Constant{}, start(k.x)); }), Error, "Constant");
  CHECK_THROWS(s.record([&] { s.run(paper::ReadGhosts{k.a, k.b}); }), Error, "'a' has no ghosts to read");
  CHECK_THROWS(s.record([&] { s.run(paper::Overwrite{k.a}, push(k.a)); }), Error, "'a' has nobody to be pushed to");
  CHECK_THROWS(s.record([&] { s.wait(k.z); }), Error, "finish of 'z', into which no command reduces");
  CHECK_THROWS(s.record([&] { throw Error(Errc::io, "the body's own"); }), Error, "the body's own");

  auto r = s.record([&] { s.run(paper::Overwrite{k.a}); });
  CHECK(r.recording().commands.size() == 1);
  CHECK(r.recording().commands[0].queue == 0);
  CHECK(r.recording().commands[0].every == 0);
}

TEST("a refused command leaves no predicate, queue or exit test behind") {
  Bench k;
  auto& s = k.s;
  auto bad = [&] { s.run(paper::Overwrite{k.a}, push(k.a)); };
  CHECK_THROWS(s.record([&] { s.when(3, bad); }), Error, "nobody");
  CHECK_THROWS(s.record([&] { s.on(2, bad); }), Error, "nobody");
  CHECK_THROWS(s.record([&] {
    s.exit_if(paper::Small{k.x});
    throw Error(Errc::io, "early");
  }),
               Error, "early");
  auto r = s.record([&] { s.run(paper::Overwrite{k.a}); });
  const Command& c = r.recording().commands[0];
  CHECK(c.every == 0);
  CHECK(c.queue == 0);
  CHECK(!c.test);
  CHECK(c.gets.empty());
}

TEST("a reduction belongs to its scalars, in their order, and to one space") {
  Bench k;
  auto& s = k.s;
  auto once = s.record([&] { s.run(Two{k.a}, start(k.x, k.y)); });
  auto again = s.record([&] { s.run(Two{k.b}, start(k.x, k.y)); });
  CHECK(once.recording().commands[0].starts == again.recording().commands[0].starts);
  CHECK_THROWS(s.record([&] { s.run(Two{k.a}, start(k.y, k.x)); }), Error, "belongs to another reduction");
  CHECK_THROWS(s.record([&] { s.run(Two{k.a}, start(k.x, k.z)); }), Error, "belongs to another reduction");
  CHECK_THROWS(s.record([&] { s.run(Two{k.a}, start(k.z, k.x)); }), Error, "belongs to another reduction");
  CHECK_THROWS(s.record([&] { s.run(Two{k.far}, start(k.x, k.y)); }), Error, "belongs to a reduction over another space");
  CHECK_THROWS(s.record([&] { s.run(Two{k.a}, start(k.z, k.z)); }), Error, "twice");
}

TEST("a name that the engine refuses never was") {
  Bench k;
  k.engine.refuses_names = true;
  CHECK_THROWS(k.s.vector("v", k.space), Error, "no room for a name");
  Vec v = k.s.vector("v", k.space);
  CHECK(v.id == k.h.id + 1);
  CHECK(k.s.vectors().size() == std::size_t(v.id) + 1);
  k.engine.refuses_names = true;
  CHECK_THROWS(k.s.record([&] { k.s.run(Two{v}, start(k.x, k.y)); }), Error, "no room for a name");
  k.s.record([&] {
    k.s.run(Two{v}, start(k.x, k.y));
    k.s.wait(k.x);
  });
  CHECK(k.s.reductions().size() == 1);
}

TEST("an exit test joins the next command, and makes one of its own where none follows") {
  Bench k;
  auto& s = k.s;
  auto joined = s.loop({}, [&] {
    s.exit_if(paper::Small{k.x});
    s.run(paper::Overwrite{k.a});
  });
  REQUIRE(joined.recording().commands.size() == 1);
  CHECK(joined.recording().commands[0].test != nullptr);
  auto alone = s.loop({}, [&] {
    s.run(paper::Overwrite{k.a});
    s.exit_if(paper::Small{k.x});
  });
  REQUIRE(alone.recording().commands.size() == 2);
  CHECK(alone.recording().commands[1].test != nullptr);
}

TEST("two exit tests in a row are both made") {
  Bench k;
  auto& s = k.s;
  auto r = s.loop({}, [&] {
    s.exit_if(paper::Small{k.x});
    s.exit_if(paper::Small{k.y});
    s.run(paper::Overwrite{k.a});
  });
  int tests = 0;
  for (auto& c : r.recording().commands) tests += c.test != nullptr;
  CHECK(tests == 2);
}

TEST("an exit test in front of predicated commands is made in every iteration") {
  Bench k;
  auto& s = k.s;
  auto r = s.loop({}, [&] {
    s.run(paper::Overwrite{k.a});
    s.exit_if(paper::Small{k.x});
    s.when(32, [&] { s.run(paper::Overwrite{k.b}); });
  });
  for (auto& c : r.recording().commands)
    if (c.test) CHECK(c.every == 0);
  auto inside = s.loop({}, [&] {
    s.when(4, [&] {
      s.run(paper::Overwrite{k.b});
      s.exit_if(paper::Small{k.x});
    });
    s.run(paper::Overwrite{k.a});
  });
  for (auto& c : inside.recording().commands) CHECK(c.every == (c.test || c.writes[0] == k.b.id ? 4 : 0));
}

TEST("predicated commands run in iterations k - 1, 2 k - 1, ...") {
  Command c;
  for (int i : {0, 1, 2, 3}) CHECK(c.active(i));
  c.every = 3;
  std::vector<int> active;
  for (int i = 0; i < 9; i++)
    if (c.active(i)) active.push_back(i);
  CHECK(active == std::vector<int>{2, 5, 8});
}

TEST("rows that need ghosts of two exchanges wait for both") {
  Bench k;
  auto r = k.s.record([&] {
    k.s.run(paper::Overwrite{k.g}, push(k.g));
    k.s.run(paper::Overwrite{k.h}, push(k.h));
    k.s.run(TwoGhosts{k.g, k.h, k.a});
  });
  const Command& c = r.recording().commands[2];
  // g's exchange lets no row go first, h's rows 0..8: no row may be computed before both have arrived
  CHECK(order(c) == "AAT");
  auto swapped = k.s.record([&] {
    k.s.run(paper::Overwrite{k.g}, push(k.g));
    k.s.run(paper::Overwrite{k.h}, push(k.h));
    k.s.run(TwoGhosts{k.h, k.g, k.a});
  });
  CHECK(order(swapped.recording().commands[2]) == "AAT");
}

TEST("rows are sent only when all of them are computed, where two exchanges send different ones") {
  Bench k;
  auto r = k.s.record([&] { k.s.run(WriteTwo{k.g, k.h}, push(k.g), push(k.h)); });
  CHECK(order(r.recording().commands[0]) == "TPP");
}

TEST("an operator's own division of the rows says nothing of what is sent") {
  Bench k;
  Split halves{{{0, 5}}, {{5, 10}}};
  auto r = k.s.record([&] { k.s.run_split(paper::Overwrite{k.h}, halves, push(k.h)); });  // h's peers wait for row 9
  CHECK(order(r.recording().commands[0]) == "TTP");
}

TEST("a push is added to the command before, in front of what it starts") {
  Bench k;
  auto r = k.s.record([&] {
    k.s.run(paper::Square{k.g}, start(k.x));
    k.s.push_last(k.g);
  });
  const Command& c = r.recording().commands[0];
  REQUIRE(c.phases.size() >= 2);
  CHECK(c.phases[c.phases.size() - 2].op == Op::put);
  CHECK(c.phases.back().op == Op::start);
  CHECK_THROWS(k.s.record([&] { k.s.push_last(k.g); }), Error, "no command");
}

TEST("an operator's epilogue takes up to three dot products, dots() up to four") {
  Bench k;
  auto& s = k.s;
  Scal w = s.scalar("w", 1), v = s.scalar("v", 1);
  auto d = [&](Scal to) { return dot(k.a, k.b) >> to; };
  CHECK(s.record([&] { s.dots(d(k.x), d(k.y), d(k.z), w.id >= 0 ? d(w) : d(v)); }).recording().commands[0].sums == 4);
  CHECK_THROWS(s.record([&] { s.dots(d(k.x), d(k.y), d(k.z), d(w), d(v)); }), Error, "1 to 4 dot products");
  CHECK_THROWS(s.record([&] { s.dots(d(k.x), dot(k.a, k.b, Turn::by_i) >> k.y); }), Error, "a complex product of real vectors");
}

TEST("commands of two queues depend on each other where one touches what the other writes") {
  Bench k;
  auto& s = k.s;
  Vec c = s.vector("c", k.space), d = s.vector("d", k.space);
  auto r = s.loop({}, [&] {
    s.run(paper::Overwrite{k.a});                    // 0
    s.on(1, [&] { s.run(paper::Copy{k.a, k.b}); });  // 1 reads what 0 writes
    s.on(1, [&] { s.run(paper::Overwrite{c}); });    // 2 has nothing to do with queue 0
    s.run(paper::Copy{k.b, d});                      // 3 reads what 1 writes
  });
  auto after = [&](int i) {
    std::vector<std::pair<int, int>> all;
    for (auto& e : r.recording().commands[std::size_t(i)].after) all.push_back({e.command, e.age});
    return all;
  };
  using Pairs = std::vector<std::pair<int, int>>;
  CHECK(after(0) == Pairs{{1, 1}});  // not before the last iteration's reader is done
  CHECK(after(1) == (Pairs{{0, 0}, {3, 1}}));
  CHECK(after(2).empty());
  CHECK(after(3) == Pairs{{1, 0}});
}

TEST("rotated names of two queues depend on each other across iterations") {
  Bench k;
  auto& s = k.s;
  auto r = s.loop({.vectors = {{k.a, k.b}}}, [&] {
    s.run(paper::Overwrite{k.a});  // writes what the next iteration calls b
    s.on(1, [&] { s.run(paper::Square{k.b}, start(k.x)); });
    s.wait(k.x);
  });
  auto& after = r.recording().commands[1].after;
  REQUIRE(!after.empty());
  bool waits_for_the_writer = false;
  for (auto& e : r.recording().commands[1].after) waits_for_the_writer |= e.command == 0;
  CHECK(waits_for_the_writer);
}

TEST("who reads a reduction's second scalar on another queue waits for the command that ends it") {
  Bench k;
  auto& s = k.s;
  auto r = s.record([&] {
    s.run(Two{k.a}, start(k.x, k.y));
    s.wait(k.x);  // gives y its value, too
    s.on(1, [&] { s.run(paper::Use{k.y}); });
  });
  auto& after = r.recording().commands[2].after;
  REQUIRE(after.size() == 1);
  CHECK(after[0].command == 1);
}

TEST("a reduction is started again on another queue only after it was finished") {
  Bench k;
  auto& s = k.s;
  auto r = s.loop({}, [&] {
    s.on(1, [&] { s.run(paper::Square{k.a}, start(k.x)); });
    s.wait(k.x);
  });
  auto& after = r.recording().commands[0].after;
  REQUIRE(after.size() == 1);
  CHECK(after[0].command == 1);
  CHECK(after[0].age == 1);
}
