#include "sordino/linalg/boxes.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "reordered.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;

namespace {

/// The box of a cell, found by walking through all of them.
i64 box_of(const Boxes& b, const Extents& cell) {
  i64 box = 0;
  for (int a = 2; a >= 0; a--) {
    i64 k = 0;
    while (b.first(a, k + 1) <= cell[std::size_t(a)]) k++;
    box = box * b.along[std::size_t(a)] + k;
  }
  return box;
}

Extents cell_at(const Extents& grid, i64 number) {
  return {number % grid[0], number / grid[0] % grid[1], number / (grid[0] * grid[1])};
}

/// What ranks of a matrix in this order would send each other.
std::vector<Exchange> halos(const CsrMatrix& A, const BoxOrder& order) {
  const CsrMatrix moved = matrices::reordered(A, order.cells);
  const Partition p = balance_within(moved.view(), order.cuts);
  std::vector<Exchange> all(std::size_t(p.ranks()));
  host::HostEngine engine({.ranks = p.ranks(), .timeout = 20});
  engine.run(
      [&](Rank& s) {
        const CsrSlice slice{
            p.first_row(s.id()), p.rows(s.id()), moved.indptr[std::size_t(p.first_row(s.id()))],
            moved.indptr[std::size_t(p.first_row(s.id() + 1))] - moved.indptr[std::size_t(p.first_row(s.id()))]};
        all[std::size_t(s.id())] =
            make_halo(s, p, distributed_space(p, s.id()), CsrOperator::foreign_columns(moved.view(), slice));
      },
      {});
  return all;
}

}  // namespace

TEST("boxes cover each direction without gaps, and their extents differ by a cell at most") {
  for (i64 cells : {1, 2, 7, 33, 64, 1000003})
    for (i64 along : {1, 2, 3, 5, 7, 33}) {
      if (along > cells) continue;
      const Boxes b{{cells, 1, 1}, {along, 1, 1}};
      NOTE(cells, " cells in ", along, " boxes");
      CHECK(b.first(0, 0) == 0);
      CHECK(b.first(0, along) == cells);
      for (i64 k = 0; k < along; k++) {
        const i64 extent = b.first(0, k + 1) - b.first(0, k);
        CHECK((extent == cells / along || extent == (cells + along - 1) / along));
        CHECK(b.place(0, b.first(0, k)) == k);
        CHECK(b.place(0, b.first(0, k + 1) - 1) == k);
      }
    }
}

TEST("auto takes the boxes with the fewest cells at cuts, and of equals those uncut in x, then in y") {
  auto shape = [](const char* grid, int ranks) {
    const Extents e = parse_extents("grid", grid);
    return choose_boxes(e[0] * e[1] * e[2], grid, "auto", ranks).along;
  };
  CHECK(shape("64,64,64", 1) == (Extents{1, 1, 1}));
  CHECK(shape("64,64,64", 2) == (Extents{1, 1, 2}));
  CHECK(shape("64,64,64", 4) == (Extents{1, 2, 2}));
  CHECK(shape("64,64,64", 8) == (Extents{2, 2, 2}));
  CHECK(shape("64,64,64", 12) == (Extents{2, 2, 3}));
  CHECK(shape("64,64,64", 7) == (Extents{1, 1, 7}));
  CHECK(shape("65,40,33", 6) == (Extents{3, 2, 1}));
  CHECK(shape("100,100,1", 4) == (Extents{2, 2, 1}));
  CHECK(shape("10,10,1000", 8) == (Extents{1, 1, 8}));
  CHECK(shape("1000,10,10", 8) == (Extents{8, 1, 1}));
  CHECK(shape("5,5,3", 50) == (Extents{5, 5, 2}));  // as 25 does not fit into any direction
  CHECK(shape("3,3,3", 27) == (Extents{3, 3, 3}));
}

TEST("no shape of other boxes has fewer cells at cuts than auto's") {
  NOTE(fresh::said());
  fresh::Random random(611);
  for (int k = 0; k < 50; k++) {
    const Extents g = {random.whole(1, 40), random.whole(1, 40), random.whole(1, 40)};
    const i64 x = random.whole(1, std::min<i64>(g[0], 6)), y = random.whole(1, std::min<i64>(g[1], 6)),
              z = random.whole(1, std::min<i64>(g[2], 6));
    auto text = [](const Extents& e) { return std::to_string(e[0]) + "," + std::to_string(e[1]) + "," + std::to_string(e[2]); };
    auto at_cuts = [&](const Extents& p) {
      return (p[0] - 1) * g[1] * g[2] + (p[1] - 1) * g[0] * g[2] + (p[2] - 1) * g[0] * g[1];
    };
    NOTE("grid ", text(g), " in ", x * y * z);
    const Boxes chosen = choose_boxes(g[0] * g[1] * g[2], text(g), "auto", int(x * y * z));
    CHECK(chosen.count() == x * y * z);
    CHECK(at_cuts(chosen.along) <= at_cuts({x, y, z}));
    CHECK(choose_boxes(g[0] * g[1] * g[2], text(g), text({x, y, z}), int(x * y * z)).along == (Extents{x, y, z}));
  }
}

TEST("boxes that cannot be are refused with a sentence") {
  CHECK_THROWS(choose_boxes(60, "", "auto", 2), Error, "partition 'boxes' cuts a grid: give its cells");
  CHECK_THROWS(choose_boxes(61, "5,4,3", "auto", 2), Error, "does not have as many cells as the matrix rows, 61");
  CHECK_THROWS(choose_boxes(60, "5,4,3", "1,2,2", 6), Error, "boxes 1 x 2 x 2 are 4, and each rank has one: there are 6 ranks");
  CHECK_THROWS(choose_boxes(60, "5,4,3", "1,2", 1), Error, "boxes 1 x 2 x 1 are 2, and each rank has one: there is 1 rank");
  CHECK_THROWS(choose_boxes(60, "5,4,3", "1,1,4", 4), Error,
               "boxes 1 x 1 x 4 are more in z than grid 5 x 4 x 3 has cells there");
  CHECK_THROWS(choose_boxes(60, "5,4,3", "6,1", 6), Error, "more in x than grid 5 x 4 x 3");
  CHECK_THROWS(choose_boxes(60, "5,4,3", "1,5", 5), Error, "more in y than grid 5 x 4 x 3");
  CHECK_THROWS(choose_boxes(60, "5,4,3", "1,x", 5), Error, "boxes is one to three numbers");
  CHECK_THROWS(choose_boxes(60, "5,4,3", "auto", 7), Error, "grid 5 x 4 x 3 cannot be cut into 7 boxes, as many as ranks");
}

TEST("rows are those of box after box: of each first the core, then the surface, and cells of both keep their order") {
  struct Case {
    Extents grid, along;
    int stencil;
  };
  for (auto& [grid, along, stencil] :
       {Case{{65, 40, 33}, {1, 2, 3}, 7}, Case{{7, 5, 11}, {3, 2, 4}, 7}, Case{{7, 5, 11}, {3, 2, 4}, 27},
        Case{{9, 1, 1}, {9, 1, 1}, 7}, Case{{6, 6, 6}, {1, 1, 1}, 27}, Case{{13, 17, 1}, {4, 5, 1}, 7}}) {
    const CsrMatrix A = poisson(grid[0], grid[1], grid[2], stencil, 10);
    const Boxes boxes{grid, along};
    const BoxOrder order = order_in_boxes(A.view(), boxes);
    NOTE(shown(grid), " in ", shown(along), ", ", stencil, " points");
    REQUIRE(i64(order.cuts.size()) == boxes.count() + 1);
    REQUIRE(i64(order.cells.size()) == A.n);
    CHECK(order.cuts.front() == 0);
    CHECK(order.cuts.back() == A.n);
    auto owner = [&](i64 cell) { return box_of(boxes, cell_at(grid, cell)); };
    auto coupled = [&](i64 cell) {
      return std::any_of(A.indices.begin() + A.indptr[std::size_t(cell)], A.indices.begin() + A.indptr[std::size_t(cell) + 1],
                         [&](i32 column) { return owner(column) != owner(cell); });
    };
    for (i64 box = 0; box < boxes.count(); box++) {
      const std::vector<i64> mine(order.cells.begin() + order.cuts[std::size_t(box)],
                                  order.cells.begin() + order.cuts[std::size_t(box) + 1]);
      CHECK(!mine.empty());
      CHECK(std::all_of(mine.begin(), mine.end(), [&](i64 cell) { return owner(cell) == box; }));
      const auto surface = std::find_if(mine.begin(), mine.end(), coupled);
      CHECK(std::all_of(surface, mine.end(), coupled));
      CHECK(std::is_sorted(mine.begin(), surface));
      CHECK(std::is_sorted(surface, mine.end()));
    }
    std::vector<i64> seen = order.cells;
    std::sort(seen.begin(), seen.end());
    std::vector<i64> all(seen.size());
    std::iota(all.begin(), all.end(), i64(0));
    CHECK(seen == all);
  }
}

TEST("what only one side of a cut reads belongs to the surface of both") {
  CsrMatrix A;  // cell 3 reads cell 0, and nobody anything else
  A.n = 6;
  A.indptr = {0, 1, 2, 3, 5, 6, 7};
  A.indices = {0, 1, 2, 0, 3, 4, 5};
  A.values.assign(7, 1.0);
  const BoxOrder order = order_in_boxes(A.view(), {{6, 1, 1}, {2, 1, 1}});
  CHECK(order.cells == (std::vector<i64>{1, 2, 0, 4, 5, 3}));
  CHECK(order.cuts == (std::vector<i64>{0, 3, 6}));
}

TEST("a box of a 7-point stencil sends its faces to 6 neighbours at most, of a 27-point one to 26, and no row twice to one") {
  const Boxes boxes{{10, 11, 13}, {3, 3, 3}};
  for (int stencil : {7, 27}) {
    NOTE(stencil, " points");
    const auto all = halos(poisson(10, 11, 13, stencil, 10), order_in_boxes(poisson(10, 11, 13, stencil, 10).view(), boxes));
    const Extents at[] = {{0, 0, 0}, {1, 1, 1}};  // a corner of the grid, and its middle
    for (auto& [x, y, z] : at) {
      const bool middle = x == 1;
      const Exchange& halo = all[std::size_t(x + 3 * (y + 3 * z))];
      const int sides = middle ? 2 : 1;
      const i64 a = boxes.first(0, x + 1) - boxes.first(0, x), b = boxes.first(1, y + 1) - boxes.first(1, y),
                c = boxes.first(2, z + 1) - boxes.first(2, z);
      const i64 faces = sides * (a * b + b * c + a * c), edges = sides * sides * (a + b + c), corners = sides * sides * sides;
      i64 sent = 0, received = 0;
      for (auto& peer : halo.peers) sent += peer.send_count, received += peer.recv_count;
      CHECK(i64(halo.peers.size()) == (stencil == 7 ? 3 * sides : (middle ? 26 : 7)));
      CHECK(sent == faces + (stencil == 27 ? edges + corners : 0));
      CHECK(received == sent);  // the neighbours' faces are as large, as boxes differ in the direction across only
      CHECK(halo.ghosts == received);
    }
  }
}
