// The neighbours of cells by the distance of their numbers are those by their places, on grids of every shape.
#include "sordino/precond/grid_neighbours.hpp"

#include <cstdlib>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

TEST("of all pairs of cells neighbours are told, by their numbers") {
  NOTE(fresh::said());
  fresh::Random random(230);
  std::vector<Extents> grids{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {2, 3, 4}, {5, 1, 3}, {1, 7, 1}, {1, 1, 9}, {4, 2, 1}, {3, 1, 1}};
  for (int k = 0; k < 5; k++) grids.push_back({random.whole(1, 6), random.whole(1, 6), random.whole(1, 6)});
  for (const Extents& grid : grids) {
    NOTE("grid ", shown(grid));
    GridNeighbours neighbours(grid);
    const i64 n = grid[0] * grid[1] * grid[2];
    bool right = true;
    for (i64 row = 0; row < n; row++)
      for (i64 column = 0; column < n; column++) {
        const Extents at = place(grid, row), to = place(grid, column);
        i64 expected = 0;
        for (std::size_t d = 3; d-- > 0;) {
          i64 by = to[d] - at[d];
          if (grid[d] > 2 && by == grid[d] - 1) by = -1;  // from the first cell to the last one, behind it
          if (grid[d] > 2 && by == 1 - grid[d]) by = 1;
          expected = std::abs(by) > 1 || expected < 0 ? -1 : 3 * expected + by + 1;
        }
        right = right && row_of(grid, at) == row;
        right = right && neighbours.find(row, at, column, std::size_t(random.whole(0, 40))) == expected;
      }
    CHECK(right);
  }
}
