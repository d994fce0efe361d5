#include <algorithm>

#include "check.hpp"
#include "paper_engine.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

TEST("a rotation {a, b, c} makes b of a, c of b, and reuses c's buffer for a") {
  std::vector<int> map{0, 1, 2, 3};
  std::vector<std::vector<int>> groups{{0, 1, 2}};
  CHECK(rotated(map, groups, 0) == map);
  CHECK(rotated(map, groups, 1) == std::vector<int>{2, 0, 1, 3});
  CHECK(rotated(map, groups, 2) == std::vector<int>{1, 2, 0, 3});
  CHECK(rotated(map, groups, 3) == map);
}

TEST("random rotations are permutations that come back after their period, and steps add up") {
  NOTE(fresh::said());
  fresh::Random random(1);
  for (int round = 0; round < 50; round++) {
    int n = int(random.whole(1, 12));
    std::vector<int> map;
    for (int i = 0; i < n; i++) map.push_back(i);
    std::vector<std::vector<int>> groups;
    for (int next = 0; next < n;) {
      int length = int(std::min<i64>(n - next, i64(1) << random.whole(0, 2)));
      if (length == 3) length = 2;
      groups.emplace_back();
      for (int i = 0; i < length; i++) groups.back().push_back(next++);
    }
    int a = int(random.whole(0, 9)), b = int(random.whole(0, 9));
    CHECK(rotated(rotated(map, groups, a), groups, b) == rotated(map, groups, a + b));
    CHECK(rotated(map, groups, 4) == map);
    auto turned = rotated(map, groups, a);
    std::sort(turned.begin(), turned.end());
    CHECK(turned == map);
  }
}

namespace {

struct Names {
  explicit Names(int size = 1) : engine(size) {}
  paper::PaperEngine engine;
  Rank& s = engine.rank(0);
  int space = paper::space_of(s, 4);
  Vec a = s.vector("a", space), b = s.vector("b", space), c = s.vector("c", space);
  Scal x = s.scalar("x", 1), y = s.scalar("y", 1);
};

}  // namespace

TEST("after its last iteration names mean what the next body would have seen") {
  for (int iterations : {1, 2, 3, 4, 5, 6, 7}) {
    Names k;
    auto loop = k.s.loop({.vectors = {{k.a, k.b, k.c}}}, [&] { k.s.run(paper::Overwrite{k.a}); });
    k.s.replay(loop, iterations);
    NOTE("iterations = ", iterations);
    CHECK(k.s.vector_map() == rotated({0, 1, 2}, {{0, 1, 2}}, iterations));
  }
}

TEST("after an exit names mean what they meant in the body that exited") {
  for (int exit_at : {1, 2, 3, 4, 5}) {
    Names k;
    k.engine.exit_at = exit_at;
    auto loop = k.s.loop({.vectors = {{k.a, k.b}}, .scalars = {{k.x, k.y}}}, [&] {
      k.s.run(paper::Overwrite{k.a});
      k.s.exit_if(paper::Small{k.x});
    });
    Outcome o = k.s.replay(loop, 10);
    NOTE("exit at ", exit_at);
    CHECK(o.iterations == exit_at);
    CHECK(o.exited());
    CHECK(k.s.vector_map() == rotated({0, 1, 2}, {{0, 1}}, exit_at - 1));
    CHECK(k.s.scalar_map() == rotated({0, 1}, {{0, 1}}, exit_at - 1));
    k.s.reset_names();
    CHECK(k.s.vector_map() == std::vector<int>{0, 1, 2});
    CHECK(k.s.scalar_map() == std::vector<int>{0, 1});
  }
}

TEST("a loop's period is that of its longest rotation") {
  Names k;
  Vec d = k.s.vector("d", k.space);
  auto period = [&](const Rotation& r) { return k.s.loop(r, [&] { k.s.run(paper::Overwrite{k.a}); }).recording().period; };
  CHECK(period({}) == 1);
  CHECK(period({.vectors = {{k.a, k.b}}}) == 2);
  CHECK(period({.vectors = {{k.a, k.b, k.c}}}) == 3);
  CHECK(period({.vectors = {{k.a, k.b, k.c, d}}, .scalars = {{k.x, k.y}}}) == 4);
}

TEST("rotations that make no sense are refused") {
  Names k;
  auto loop = [&](const Rotation& r) { k.s.loop(r, [&] { k.s.run(paper::Overwrite{k.a}); }); };
  CHECK_THROWS(loop({.vectors = {{k.a, k.b, k.c}}, .scalars = {{k.x, k.y}}}), Error, "do not divide each other");
  CHECK_THROWS(loop({.vectors = std::vector<std::vector<Vec>>(1)}), Error, "rotation");
  CHECK_THROWS(loop({.vectors = {{k.a, k.b}, {k.b, k.c}}}), Error, "two rotations");
  Vec wide = k.s.vector("wide", paper::space_of(k.s, 40));
  CHECK_THROWS(loop({.vectors = {{k.a, wide}}}), Error, "cannot trade places");
  Exchange x = paper::first_rows_to_all(0, 2, 4);
  Vec ghosted = k.s.vector("ghosted", k.space, &x);
  CHECK_THROWS(loop({.vectors = {{k.a, ghosted}}}), Error, "cannot trade places");
  loop({.vectors = {{k.a, k.b}}});  // and the rank can go on
}
