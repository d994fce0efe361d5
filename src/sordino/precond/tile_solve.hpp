// Row functor of block-ilu: row t solves tile t. One thread does it, cell after cell, so a GPU needs thousands of tiles.
#pragma once
#include "sordino/precond/tiling.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// Where the numbers of a tile lie. A tile's matrix is stored by diagonals of the tile's own numbers of cells: each cell has
/// `slots` factors, and `width` tiles lie interleaved, so that as many threads, each at the same cell of its tile, read
/// consecutive words (001, section IV-B: the transposed layout). Diagonals have no entries where a neighbour is another
/// tile's: there are zeros.
struct TileLayout {
  i32 cells, slots;
  i32 offdiagonals;  // of a triangle; a cell's slots are those of L, the inverse pivot, and those of U where U is not L^T

  SORDINO_HD bool has_upper() const { return slots > offdiagonals + 1; }
  template <int width>
  SORDINO_HD i64 first(i32 tile) const {  // the tile's first word, in words of one number a cell
    return i64(tile / width) * cells * width;
  }
};

/// z = M^-1 r in each tile, with M = (I + L) D (I + U): forward substitution into `work`, then backward from there into z.
template <int W>
struct TileSolve {
  static constexpr int resident_blocks = 2;  // there are fewer threads than a GPU has room for, and each wants registers
  static constexpr const char* name = "Block ILU";
  const double* factor;  // [tiles / W][cells][slots][W]
  double* work;          // [tiles / W][cells][W]
  const i32* shifts;     // [offdiagonals] how many cells before this one the entry's column is
  TileLayout layout;
  RankTiles tiles;
  Foreign<const double, Access::read> r;
  Foreign<double, Access::write> z;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(r);
    visit(z);
  }
  SORDINO_HD void row(i32 t) {
    switch (layout.offdiagonals) {
      case 3: return solve<3>(t);    // 7 points
      case 13: return solve<13>(t);  // 27 points
      default: return solve<0>(t);   // any number
    }
  }
  // Factors are read in both substitutions, unless L and U are two.
  Cost cost() const {
    const double stored = double(tiles.count()) * layout.cells, triangles = 2.0 * layout.offdiagonals;
    return {8 * (stored * (triangles + 1 + 2) + 2.0 * tiles.rows()), stored * (2 * triangles + 1)};
  }

 private:
  template <int D>
  SORDINO_HD void solve(i32 t) {
    forward<D>(t);
    backward<D>(t);
  }
  template <int D>
  SORDINO_HD i32 offdiagonals() const {
    return D > 0 ? D : layout.offdiagonals;
  }
  template <int D>
  SORDINO_HD void forward(i32 t) {
    const i64 first = layout.first<W>(t) + t % W;
    const double* L = factor + layout.first<W>(t) * layout.slots + t % W;
    double* y = work + first;
    i32 c = 0;
    for (i32 lz = 0; lz < tiles.tile[2]; lz++)
      for (i32 ly = 0; ly < tiles.tile[1]; ly++) {
        const auto line = tiles.line(t, ly, lz);
        for (i32 lx = 0; lx < tiles.tile[0]; lx++, c++, L += i64(layout.slots) * W) {
          double sum = lx < line.inside ? r[line.first + lx] : 0;
          for (i32 d = offdiagonals<D>(); d-- > 0;)  // the cell just before comes last: its y is the last to be known
            if (c >= shifts[d]) sum -= L[d * W] * y[i64(c - shifts[d]) * W];
          y[i64(c) * W] = sum;
        }
      }
  }
  template <int D>
  SORDINO_HD void backward(i32 t) {
    const double* here = factor + (layout.first<W>(t) + i64(layout.cells) * W) * layout.slots + t % W;
    double* y = work + layout.first<W>(t) + t % W;
    const bool own = layout.has_upper();
    i32 c = layout.cells;
    for (i32 lz = tiles.tile[2]; lz-- > 0;)
      for (i32 ly = tiles.tile[1]; ly-- > 0;) {
        const auto line = tiles.line(t, ly, lz);
        for (i32 lx = tiles.tile[0]; lx-- > 0;) {
          c--;
          here -= i64(layout.slots) * W;
          double sum = y[i64(c) * W] * here[layout.offdiagonals * W];
          for (i32 d = offdiagonals<D>(); d-- > 0;) {
            if (c + shifts[d] >= layout.cells) continue;
            const double* U = own ? here + (layout.offdiagonals + 1) * W : here + i64(shifts[d]) * layout.slots * W;
            sum -= U[d * W] * y[i64(c + shifts[d]) * W];
          }
          y[i64(c) * W] = sum;
          if (lx < line.inside) z[line.first + lx] = sum;
        }
      }
  }
};

/// Tiles that a GPU's warp solves together.
constexpr int tiles_of_warp = 32;

using BlockIluKernels = KernelList<Kernel<TileSolve<tiles_of_warp>>>;

}  // namespace sordino
