#include "sordino/linalg/boxes.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

constexpr const char* direction_name[] = {"x", "y", "z"};

/// Cells on one side of the cuts.
i64 cells_at_cuts(const Boxes& b) {
  i64 cells = 0;
  for (int a = 0; a < 3; a++) cells += (b.along[a] - 1) * b.grid[(a + 1) % 3] * b.grid[(a + 2) % 3];
  return cells;
}

Extents automatic(const Extents& grid, i64 ranks) {
  Extents best = {};
  i64 fewest = std::numeric_limits<i64>::max();
  for (i64 x = 1; x <= std::min(ranks, grid[0]); x++)
    for (i64 y = 1; ranks % x == 0 && y <= std::min(ranks / x, grid[1]); y++) {
      const Boxes b{grid, {x, y, ranks / x / y}};
      if (b.count() != ranks || b.along[2] > grid[2] || cells_at_cuts(b) >= fewest) continue;
      fewest = cells_at_cuts(b);
      best = b.along;
    }
  if (best[0] == 0)
    bad_argument("grid " + shown(grid) + " cannot be cut into " + std::to_string(ranks) +
                 " boxes, as many as ranks: each way has more boxes than cells in a direction");
  return best;
}

void check(const Boxes& b, int ranks) {
  for (int a = 0; a < 3; a++)
    if (b.along[a] > b.grid[a])
      bad_argument("boxes " + shown(b.along) + " are more in " + direction_name[a] + " than grid " + shown(b.grid) +
                   " has cells there");
  if (b.count() != ranks)
    bad_argument("boxes " + shown(b.along) + " are " + std::to_string(b.count()) + ", and each rank has one: there " +
                 (ranks == 1 ? "is 1 rank" : "are " + std::to_string(ranks) + " ranks"));
}

/// The box of each cell.
std::vector<i32> owners(const Boxes& b) {
  std::vector<i32> owner(std::size_t(b.grid[0] * b.grid[1] * b.grid[2]));
  for_parts(0, i64(owner.size()), [&](i64 begin, i64 end) {
    for (i64 cell = begin; cell < end; cell++) {
      const i64 x = cell % b.grid[0], line = cell / b.grid[0], y = line % b.grid[1], z = line / b.grid[1];
      owner[std::size_t(cell)] = i32(b.place(0, x) + b.along[0] * (b.place(1, y) + b.along[1] * b.place(2, z)));
    }
  });
  return owner;
}

/// Which cells have a coupling that is cut; both of its ends are marked, though A may have it one way only.
std::vector<char> surface(const CsrView& A, const std::vector<i32>& owner) {
  std::vector<char> cut(owner.size());
  auto mark = [&](i64 cell) { std::atomic_ref(cut[std::size_t(cell)]).store(1, std::memory_order_relaxed); };
  for_parts(0, A.n, [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; row++)
      for (i64 k = A.begin(row); k < A.begin(row + 1); k++) {
        const i64 column = A.indices[k];
        if (owner[std::size_t(column)] != owner[std::size_t(row)]) mark(row), mark(column);
      }
  });
  return cut;
}

}  // namespace

Boxes choose_boxes(i64 n, const std::string& grid, const std::string& boxes, int ranks) {
  if (grid.empty()) bad_argument("partition 'boxes' cuts a grid: give its cells in x, y and z (option grid)");
  Boxes b{parse_grid(n, grid)};
  b.along = boxes == "auto" ? automatic(b.grid, ranks) : parse_extents("boxes", boxes);
  check(b, ranks);
  return b;
}

BoxOrder order_in_boxes(const CsrView& A, const Boxes& boxes) {
  const auto owner = owners(boxes);
  const auto at_surface = surface(A, owner);
  const auto parts = std::size_t(2 * boxes.count());  // a core and a surface each
  auto part = [&](i64 cell) { return std::size_t(2 * owner[std::size_t(cell)] + at_surface[std::size_t(cell)]); };
  std::vector<i64> next(parts + 1);
  for (i64 cell = 0; cell < A.n; cell++) next[part(cell) + 1]++;
  for (std::size_t p = 0; p < parts; p++) next[p + 1] += next[p];
  BoxOrder order{std::vector<i64>(owner.size()), {}};
  for (std::size_t p = 0; p <= parts; p += 2) order.cuts.push_back(next[p]);
  for (i64 cell = 0; cell < A.n; cell++) order.cells[std::size_t(next[part(cell)]++)] = cell;
  return order;
}

}  // namespace sordino
