// The neighbours of cells by the distance of their numbers are those by their places, on grids of every shape.
#include "sordino/precond/grid_neighbours.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// Of the neighbours of a cell, the cell among them, increasing.
std::vector<i32> columns_of(const Extents& grid, const Extents& at, bool periodic) {
  std::vector<i32> columns;
  for (int number = 0; number < GridNeighbours::count; number++) {
    Extents to = GridNeighbours::step(number);
    bool is_there = true;
    for (std::size_t d = 0; d < 3; d++) {
      const i64 by = to[d];
      to[d] = periodic ? step_from(at[d], by, grid[d]) : at[d] + by;
      is_there = is_there && (by == 0 || grid[d] > 1) && to[d] >= 0 && to[d] < grid[d];
    }
    if (is_there) columns.push_back(i32(row_of(grid, to)));
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

bool are_all(const GridNeighbours& neighbours, i64 n, i64 row, const Extents& at, const std::vector<i32>& columns) {
  const i64 indptr[] = {0, i64(columns.size())};
  return neighbours.are_all({.n = n, .indptr = indptr, .indices = columns.data(), .first_row = row, .held = 1}, row, at);
}

}  // namespace

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

TEST("a row has all neighbours if its cell is inside the box and has 27 entries, and not else") {
  NOTE(fresh::said());
  fresh::Random random(231);
  for (const Extents& grid : {Extents{3, 3, 3}, Extents{4, 3, 5}, Extents{9, 2, 4}, Extents{6, 7, 1}, Extents{7, 5, 6}})
    for (bool periodic : {false, true}) {
      NOTE("grid ", shown(grid), ", periodic = ", periodic);
      const GridNeighbours neighbours(grid);
      const i64 n = grid[0] * grid[1] * grid[2];
      for (i64 row = 0; row < n; row++) {
        const Extents at = place(grid, row);
        std::vector<i32> columns = columns_of(grid, at, periodic);
        bool inside = true;
        for (std::size_t d = 0; d < 3; d++) inside = inside && at[d] > 0 && at[d] + 1 < grid[d];
        CHECK(are_all(neighbours, n, row, at, columns) == inside);
        columns.erase(columns.begin() + random.whole(0, i64(columns.size()) - 1));
        CHECK(!are_all(neighbours, n, row, at, columns));
        if (!inside || n == 27) continue;
        i64 other = random.whole(0, n - 1);
        for (const std::vector<i32> all = columns_of(grid, at, periodic); std::count(all.begin(), all.end(), i32(other)) > 0;)
          other = random.whole(0, n - 1);
        columns.insert(std::lower_bound(columns.begin(), columns.end(), i32(other)), i32(other));
        CHECK(!are_all(neighbours, n, row, at, columns));
      }
    }
}
