// Boxes tile the lattice, parities agree, and faces that meet number their sites alike.
#include "sordino/lattice/geometry.hpp"

#include <set>

#include "check.hpp"
#include "fields.hpp"
#include "sordino/base/error.hpp"

using namespace fields;
using sordino::Error;

namespace {

int ranks_of(const Coords& grid) { return grid[0] * grid[1] * grid[2] * grid[3]; }

template <class Visit>
void each_site(const Box& box, Visit visit) {
  for (int parity = 0; parity < 2; parity++)
    for (i32 i = 0; i < box.sites().half; i++) {
      i32 x[4];
      box.sites().coordinates(parity, i, x);
      visit(parity, i, x);
    }
}

template <int mu>
void check_faces(const Box& box) {
  auto& s = box.sites();
  std::set<i32> numbers[2];
  each_site(box, [&](int parity, i32, const i32(&x)[4]) {
    if (x[mu] != 0) return;
    i32 n = s.face_number<mu>(x), back[4], other[4] = {x[0], x[1], x[2], x[3]};
    CHECK(n < box.face(mu));
    numbers[parity].insert(n);
    s.face_coordinates<mu>(0, parity, n, back);
    CHECK(std::equal(x, x + 4, back));
    other[mu] = s.extent[mu] - 1;  // what faces it across a cut, and is of the other parity
    CHECK(s.face_number<mu>(other) == n);
    s.face_coordinates<mu>(other[mu], 1 - parity, n, back);
    CHECK(std::equal(other, other + 4, back));
  });
  for (auto& set : numbers) CHECK(set.size() == std::size_t(box.face(mu)));
}

const Coords lattices[] = {{4, 4, 4, 8}, {8, 4, 6, 4}, {2, 2, 2, 2}, {2, 4, 10, 6}, {6, 8, 2, 12}};

}  // namespace

TEST("boxes cover each site once, with its parity in the lattice") {
  for (auto& extent : lattices)
    for (int ranks : {1, 2, 3, 4, 6, 8}) {
      Lattice lattice{extent};
      Coords grid;
      try {
        grid = choose_grid(lattice, ranks);
      } catch (const Error&) {
        continue;
      }
      NOTE(to_string(extent), " on ", to_string(grid));
      CHECK(ranks_of(grid) == ranks);
      std::set<i64> seen;
      for (int rank = 0; rank < ranks; rank++) {
        Box box(lattice, grid, rank);
        each_site(box, [&](int parity, i32 i, const i32(&x)[4]) {
          Coords g = box.global(x);
          CHECK((g[0] + g[1] + g[2] + g[3]) % 2 == parity);
          CHECK(box.sites().number(x) == i);
          seen.insert(lattice.number(g));
        });
      }
      CHECK(seen.size() == std::size_t(lattice.volume()));
    }
}

TEST("neighbours in a box are one step away") {
  for (auto& extent : lattices) {
    NOTE(to_string(extent));
    Box box(Lattice{extent}, {1, 1, 1, 1}, 0);
    auto& s = box.sites();
    each_site(box, [&](int parity, i32, const i32(&x)[4]) {
      auto check = [&](int mu, int step, i32 number) {
        i32 y[4];
        s.coordinates(1 - parity, number, y);
        for (int d = 0; d < 4; d++) CHECK(y[d] == (d == mu ? (x[d] + step + extent[d]) % extent[d] : x[d]));
      };
      check(0, 1, s.neighbour<0, 1>(x)), check(0, -1, s.neighbour<0, -1>(x));
      check(1, 1, s.neighbour<1, 1>(x)), check(1, -1, s.neighbour<1, -1>(x));
      check(2, 1, s.neighbour<2, 1>(x)), check(2, -1, s.neighbour<2, -1>(x));
      check(3, 1, s.neighbour<3, 1>(x)), check(3, -1, s.neighbour<3, -1>(x));
    });
  }
}

TEST("the sites of a face have the same numbers on both sides of a cut") {
  for (auto& extent : lattices) {
    NOTE(to_string(extent));
    Box box(Lattice{extent}, {1, 1, 1, 1}, 0);
    check_faces<0>(box), check_faces<1>(box), check_faces<2>(box), check_faces<3>(box);
  }
}

TEST("interior sites have all their neighbours at home") {
  Box box(Lattice{{8, 4, 6, 8}}, {2, 1, 1, 2}, 1);
  for (int parity : {0, 1}) {
    auto parts = box.parts(parity);
    i32 inside = 0, outside = 0;
    for (auto& r : parts.interior)
      for (i32 i = r.begin; i < r.end; i++, inside++) {
        i32 x[4];
        box.sites().coordinates(parity, i, x);
        for (int mu : {0, 3}) CHECK(x[mu] % 3 != 0);  // boxes are 4 sites long in x and t
      }
    for (auto& r : parts.surface) outside += r.size();
    CHECK(inside == 2 * 4 * 6 * 2 / 2);
    CHECK(inside + outside == box.sites().half);
  }
  CHECK(Box(Lattice{{4, 4, 4, 4}}, {1, 1, 1, 1}, 0).parts(0).surface.empty());
}

TEST("neighbouring ranks know each other, and the last ones in t carry the boundary's sign") {
  Lattice lattice{{8, 8, 8, 8}};
  for (int rank = 0; rank < 8; rank++) {
    Box box(lattice, {2, 1, 1, 4}, rank);
    CHECK(box.neighbour(1, 1) == rank);
    for (int mu : {0, 3}) {
      CHECK(Box(lattice, {2, 1, 1, 4}, box.neighbour(mu, 1)).neighbour(mu, -1) == rank);
      CHECK(box.neighbour(mu, 1) != rank);
    }
    CHECK(box.last_sign() == (rank >= 6 ? -1 : 1));
  }
  CHECK(Box(Lattice{{4, 4, 4, 4}, false}, {1, 1, 1, 1}, 0).last_sign() == 1);
}

TEST("the grid has the least surface, and cuts t first") {
  CHECK(choose_grid(Lattice{{8, 8, 8, 8}}, 1) == Coords{1, 1, 1, 1});
  CHECK(choose_grid(Lattice{{8, 8, 8, 8}}, 2) == Coords{1, 1, 1, 2});
  CHECK(choose_grid(Lattice{{4, 4, 4, 8}}, 2) == Coords{1, 1, 1, 2});
  CHECK(choose_grid(Lattice{{32, 32, 32, 256}}, 4) == Coords{1, 1, 1, 4});
  CHECK(choose_grid(Lattice{{8, 4, 6, 4}}, 3) == Coords{1, 1, 3, 1});
  CHECK(choose_grid(Lattice{{8, 8, 8, 8}}, 16) == Coords{1, 1, 4, 4});  // as much as 2x2x2x2
  CHECK(choose_grid(Lattice{{32, 32, 4, 4}}, 16) == Coords{4, 4, 1, 1});
}

TEST("the most ranks that a lattice can be cut for") {
  CHECK(most_ranks(Lattice{{4, 4, 4, 8}}, 7) == 4);
  CHECK(most_ranks(Lattice{{8, 4, 6, 4}}, 7) == 6);
  CHECK(most_ranks(Lattice{{2, 2, 2, 2}}, 7) == 1);
}

TEST("sizes that cannot be are refused in a sentence") {
  CHECK_THROWS(choose_grid(Lattice{{4, 4, 5, 4}}, 1), Error, "its extent in z must be an even number");
  CHECK_THROWS(choose_grid(Lattice{{4, 4, 4, 0}}, 1), Error, "its extent in t must be an even number");
  CHECK_THROWS(choose_grid(Lattice{{4, 4, 4, 4}}, 3), Error, "4x4x4x4 sites cannot be cut into 3 equal boxes of even extents");
  CHECK_THROWS(choose_grid(Lattice{{2, 2, 2, 2}}, 2), Error, "cannot be cut into 2 equal boxes");
  CHECK_THROWS(Box(Lattice{{4, 4, 4, 6}}, {1, 1, 1, 2}, 0), Error, "into boxes of even extents in t");
  CHECK_THROWS(Box(Lattice{{512, 512, 512, 4}}, {1, 1, 1, 1}, 0), Error, "use more ranks");
}

TEST("division by multiplication is exact") {
  NOTE(fresh::said());
  fresh::Random random(61);
  auto check = [](i32 n, i32 d) {
    i32 rest = n;
    NOTE(n, " / ", d);
    CHECK(Divider(d).divide(rest) == n / d);
    CHECK(rest == n % d);
  };
  for (i32 d : {1, 2, 3, 5, 6, 7, 12, 64, 641, 46341, 0x40000001, 0x7fffffff, i32(random.whole(1, 0x7fffffff))})
    for (i32 n : {0, 1, d - 1, d, d < 0x3fffffff ? 2 * d - 1 : d, 0x7ffffffe, 0x7fffffff, i32(random.whole(0, 0x7fffffff))})
      check(n, d);
}
