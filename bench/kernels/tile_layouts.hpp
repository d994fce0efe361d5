// Paper 001's Table I: tiles solved by a thread each, with all arrays in the order of the grid, x fastest (its times t1), or
// transposed, z fastest (t2). Threads are numbered as cells are, so that those beside each other are at tiles beside each other
// in the direction in which words lie. Cells are solved in one order, so both have the bits of precond/tile_solve.hpp.
#pragma once
#include <vector>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/tile_factor.hpp"

namespace bench {
using namespace sordino;

/// Where a cell's word is in each array, and which cell is the first one of a tile.
template <bool transposed>
struct ArrayOrder {
  i32 cells[3], tile[3];

  SORDINO_HD i64 place(i32 x, i32 y, i32 z) const {
    return transposed ? z + i64(cells[2]) * (y + i64(cells[1]) * x) : x + i64(cells[0]) * (y + i64(cells[1]) * z);
  }
  SORDINO_HD i32 along(int direction) const { return (cells[direction] + tile[direction] - 1) / tile[direction]; }
  SORDINO_HD i32 count() const { return along(0) * along(1) * along(2); }
  SORDINO_HD void corner(i32 t, i32 (&at)[3]) const {
    const int fast = transposed ? 2 : 0, slow = 2 - fast;
    at[fast] = t % along(fast) * tile[fast];
    at[1] = t / along(fast) % along(1) * tile[1];
    at[slow] = t / (along(fast) * along(1)) * tile[slow];
  }
};

/// Factors of all cells by diagonals, L's of x, y and z and the inverse pivot; vectors.
struct TileArrays {
  const double *factor[4], *r;
  double *y, *z;
};

/// z = (L D L^T)^-1 r of tile t, in 7 x 8 B of factors a cell and 4 words of vectors.
template <bool transposed>
SORDINO_HD void solve_tile(const ArrayOrder<transposed>& order, const TileArrays& a, i32 t) {
  i32 low[3], high[3];
  order.corner(t, low);
  for (int d = 0; d < 3; d++) high[d] = low[d] + order.tile[d] < order.cells[d] ? low[d] + order.tile[d] : order.cells[d];
  const i64 step[3] = {order.place(1, 0, 0), order.place(0, 1, 0), order.place(0, 0, 1)};
  for (i32 z = low[2]; z < high[2]; z++)
    for (i32 y = low[1]; y < high[1]; y++)
      for (i32 x = low[0]; x < high[0]; x++) {
        const i64 at = order.place(x, y, z);
        double sum = a.r[at];
        if (z > low[2]) sum -= a.factor[2][at] * a.y[at - step[2]];
        if (y > low[1]) sum -= a.factor[1][at] * a.y[at - step[1]];
        if (x > low[0]) sum -= a.factor[0][at] * a.y[at - step[0]];
        a.y[at] = sum;
      }
  for (i32 z = high[2]; z-- > low[2];)
    for (i32 y = high[1]; y-- > low[1];)
      for (i32 x = high[0]; x-- > low[0];) {
        const i64 at = order.place(x, y, z);
        double sum = a.y[at] * a.factor[3][at];
        if (z + 1 < high[2]) sum -= a.factor[2][at + step[2]] * a.z[at + step[2]];
        if (y + 1 < high[1]) sum -= a.factor[1][at + step[1]] * a.z[at + step[1]];
        if (x + 1 < high[0]) sum -= a.factor[0][at + step[0]] * a.z[at + step[0]];
        a.z[at] = sum;
      }
}

/// Of a symmetric matrix with 7 points, in memory of the host: factors by diagonals, [4][cells], in an order of arrays.
template <bool transposed>
std::vector<double> factors_in(const ArrayOrder<transposed>& order, const CsrView& A) {
  const Extents grid{order.cells[0], order.cells[1], order.cells[2]}, tile{order.tile[0], order.tile[1], order.tile[2]};
  const Tiling tiling{.grid = grid, .tile = tile};
  const TiledRows rows(tiling, 0, i32(A.n));
  const std::vector<i32> shifts = shifts_of(A, rows);
  // A tile that is one cell deep has no entries in that direction.
  const i32 wanted[3] = {1, order.tile[0], order.tile[0] * order.tile[1]};
  int slot[3];
  for (int d = 0; d < 3; d++) {
    const auto found = std::find(shifts.begin(), shifts.end(), wanted[d]);
    slot[d] = order.tile[d] > 1 && found != shifts.end() ? int(found - shifts.begin()) : -1;
  }
  std::vector<double> all(std::size_t(4 * A.n));
  for_parts(
      0, rows.tiles.count(),
      [&](i64 begin, i64 end) {
        TileFactor factor(rows, shifts);
        for (i64 t = begin; t < end; t++) {
          if (factor.factorize(A, i32(t), true) != TileFactor::none) bad_argument("a pivot is not positive");
          for (i32 z = 0, cell = 0; z < tile[2]; z++)
            for (i32 y = 0; y < tile[1]; y++) {
              const auto line = rows.tiles.line(i32(t), y, z);
              for (i32 x = 0; x < tile[0]; x++, cell++) {
                if (x >= line.inside) continue;
                const i32 number = line.first + x;
                const i64 at = order.place(number % grid[0], number / grid[0] % grid[1], number / (grid[0] * grid[1]));
                for (int d = 0; d < 3; d++)
                  if (slot[d] >= 0) all[std::size_t(d * A.n + at)] = factor.lower(cell, slot[d]);
                all[std::size_t(3 * A.n + at)] = factor.inverse_pivot(cell);
              }
            }
        }
      },
      1 << 8);
  return all;
}

/// A vector of the grid's order, x fastest, in an order of arrays, and back.
template <bool transposed>
std::vector<double> moved(const ArrayOrder<transposed>& order, const std::vector<double>& v, bool back) {
  std::vector<double> to(v.size());
  i64 number = 0;
  for (i32 z = 0; z < order.cells[2]; z++)
    for (i32 y = 0; y < order.cells[1]; y++)
      for (i32 x = 0; x < order.cells[0]; x++, number++) {
        const i64 at = order.place(x, y, z);
        to[std::size_t(back ? number : at)] = v[std::size_t(back ? at : number)];
      }
  return to;
}

}  // namespace bench
