// Row functor of block-ilu: row t solves tile t. One thread does it, cell after cell, so a GPU needs thousands of tiles.
#pragma once
#include <cstdint>

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
///
/// With `sums` a row returns (r,z) and (r,r) of its tile; M is symmetric. No vector is read again for them: r is at hand on the
/// way forward; on the way back, where it is not, y = (I + L)^-1 r is, and (r,z) = (y, D^-1 y).
template <int W, bool sums = false>
struct TileSolve {
  // Each thread has tens of loads in flight: more threads gain nothing, and what they keep in `work` crowds the caches.
  static constexpr int resident_blocks = 1;
  static constexpr const char* name = "Block ILU";
  const double* factor;  // [tiles / W][cells][slots][W]
  double* work;          // [tiles / W][cells][W]
  const i32* shifts;     // [offdiagonals] how many cells before this one the entry's column is
  const i32* rows;       // [cells of the rank] by their numbers; null: they are the numbers
  TileLayout layout;
  RankTiles tiles;
  Foreign<const double, Access::read> r;
  Foreign<double, Access::write> z;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(r);
    visit(z);
  }
  SORDINO_HD std::conditional_t<sums, Sums<2>, void> row(i32 t) {
    Products of_tile;
    switch (layout.offdiagonals) {
      case 2: solve<2>(t, of_tile); break;    // 5 points
      case 3: solve<3>(t, of_tile); break;    // 7 points
      case 13: solve<13>(t, of_tile); break;  // 27 points
      default: solve<0>(t, of_tile);          // any number
    }
    if constexpr (sums) return {of_tile.rz, of_tile.rr};
  }
  // Factors are read in both substitutions, unless L and U are two.
  Cost cost() const {
    const double stored = double(tiles.count()) * layout.cells, triangles = 2.0 * layout.offdiagonals;
    const double vectors = (rows ? 24.0 : 16.0) * tiles.rows();  // with the number of a row, each time
    return {8 * stored * (triangles + 1 + 2) + vectors, stored * (2 * triangles + 1 + (sums ? 4 : 0))};
  }

 private:
  static constexpr i32 line_part = 512;
  /// Each line's are added up first, and on a host, where a tile may be one line of all rows of a rank, those of a part of it.
  struct Products {
    double rz = 0, rr = 0;
    SORDINO_HD void operator+=(const Products& of_line) {
      rz += of_line.rz;
      rr += of_line.rr;
    }
  };
  template <int D>
  struct Shifts {
    const i32* stored;
    i32 loaded[D > 0 ? D : 1];

    SORDINO_HD explicit Shifts(const i32* shifts) : stored(shifts) {
      for (i32 d = 0; d < D; d++) loaded[d] = shifts[d];
    }
    SORDINO_HD i32 operator[](i32 d) const { return D > 0 ? loaded[d] : stored[d]; }
  };
  /// C cells of a line.
  struct Cells {
    i32 c, lx;  // the first one in its tile and in its line
    RankTiles::Line line;

    SORDINO_HD bool has_row(i32 k) const { return lx + k < line.inside; }
    SORDINO_HD i32 row(i32 k) const { return line.first + lx + k; }  // its number
  };
  template <int D>
  SORDINO_HD i32 offdiagonals() const {
    return D > 0 ? D : layout.offdiagonals;
  }

  /// Several cells of a line are solved at once, where only the first entry of each is of a cell among them, its neighbour: all
  /// that they need of others is loaded together, and what is left is a chain of numbers that are there. Where tiles are not
  /// interleaved a CPU solves them, whose caches have all that anyway: there it is one cell after the other.
  template <int D>
  SORDINO_HD void solve(i32 t, Products& of_tile) {
    constexpr int most = W == 1 || D == 0 ? 1 : D <= 3 ? 8 : 2;
    const Shifts<D> shift(shifts);
    if constexpr (most > 1) {
      const i32 length = tiles.tile[0], reach = shift[1] < length ? shift[1] : length;
      if (shift[0] == 1 && reach >= most) return solve<D, most>(t, shift, of_tile);
      if (shift[0] == 1 && reach >= most / 2) return solve<D, most / 2>(t, shift, of_tile);
    }
    solve<D, 1>(t, shift, of_tile);
  }
  template <int D, int C>
  SORDINO_HD void solve(i32 t, const Shifts<D>& shift, Products& of_tile) {
    const i64 first = layout.first<W>(t);
    const double* L = factor + first * layout.slots + t % W;
    double* y = work + first + t % W;
    const i32 length = tiles.tile[0];
    double before = 0, after = 0;  // on the line
    i32 c = 0;
    for (i32 lz = 0; lz < tiles.tile[2]; lz++)
      for (i32 ly = 0; ly < tiles.tile[1]; ly++) {
        const auto line = tiles.line(t, ly, lz);
        Products here;
        i32 lx = 0;
        for (; lx + C <= length; lx += C, c += C) {
          add_up(lx, here, of_tile);
          forward<D, C>({c, lx, line}, shift, L, y, before, here);
        }
        for (; C > 1 && lx < length; lx++, c++) forward<D, 1>({c, lx, line}, shift, L, y, before, here);
        of_tile += here;
      }
    for (i32 lz = tiles.tile[2]; lz-- > 0;)
      for (i32 ly = tiles.tile[1]; ly-- > 0;) {
        const auto line = tiles.line(t, ly, lz);
        Products here;
        i32 lx = length;
        for (; C > 1 && lx % C > 0; lx--, c--) backward<D, 1>({c - 1, lx - 1, line}, shift, L, y, after, here);
        for (; lx > 0; lx -= C, c -= C) {
          add_up(lx, here, of_tile);
          backward<D, C>({c - C, lx - C, line}, shift, L, y, after, here);
        }
        of_tile += here;
      }
  }
  static SORDINO_HD void add_up(i32 lx, Products& here, Products& of_tile) {
    if constexpr (W == 1)
      if (lx % line_part == 0) {
        of_tile += here;
        here = {};
      }
  }
  /// No branches, and nothing is stored before the last load: so they are in flight together.
  template <int D, int C>
  SORDINO_HD void forward(const Cells& cells, const Shifts<D>& shift, const double* L, double* y, double& before,
                          Products& of_line) const {
    double sum[C], entry[C];
    L += i64(cells.c) * layout.slots * W;
    y += i64(cells.c) * W;
    read<C>(cells, sum);
    for (i32 k = 0; sums && k < C; k++) of_line.rr += sum[k] * sum[k];
    for (i32 k = 0; k < C; k++) {
      const double* here = L + i64(k) * layout.slots * W;
      for (i32 d = offdiagonals<D>(); d-- > (C > 1);)  // the cell just before comes last: its y is the last to be known
        sum[k] -= here[d * W] * (cells.c + k >= shift[d] ? y[i64(k - shift[d]) * W] : 0);
      entry[k] = C > 1 ? here[0] : 0;
    }
    for (i32 k = 0; k < C; k++) {
      if (C > 1) sum[k] -= entry[k] * before;
      before = sum[k];
      y[i64(k) * W] = sum[k];
    }
  }
  template <int D, int C>
  SORDINO_HD void backward(const Cells& cells, const Shifts<D>& shift, const double* L, double* y, double& after,
                           Products& of_line) const {
    double sum[C], entry[C] = {};
    L += i64(cells.c) * layout.slots * W;
    y += i64(cells.c) * W;
    const bool own = layout.has_upper();
    for (i32 k = C; k-- > 0;) {
      const double* here = L + i64(k) * layout.slots * W;
      const double yk = y[i64(k) * W];
      sum[k] = yk * here[layout.offdiagonals * W];
      if (sums) of_line.rz += yk * sum[k];
      for (i32 d = offdiagonals<D>(); d-- > 0;) {
        const bool inside = cells.c + k + shift[d] < layout.cells;
        const double* U = own ? here + (layout.offdiagonals + 1) * W : here + i64(shift[d]) * layout.slots * W;
        const double u = inside ? U[d * W] : 0;
        if (C > 1 && d == 0)
          entry[k] = u;
        else
          sum[k] -= u * (inside ? y[i64(k + shift[d]) * W] : 0);
      }
    }
    for (i32 k = C; k-- > 0;) {
      if (C > 1) sum[k] -= entry[k] * after;
      after = sum[k];
      y[i64(k) * W] = sum[k];
    }
    store<C>(cells, sum);
  }
  template <int C>
  SORDINO_HD void read(const Cells& cells, double (&sum)[C]) const {
    if (rows)
      for (i32 k = 0; k < C; k++) sum[k] = cells.has_row(k) ? r[rows[cells.row(k)]] : 0;
    else
      for (i32 k = 0; k < C; k++) sum[k] = cells.has_row(k) ? r[cells.row(k)] : 0;
  }
  /// Two words at once where they lie so: threads of a warp store a tile's length apart.
  template <int C>
  SORDINO_HD void store(const Cells& cells, const double (&sum)[C]) const {
    if (rows) {
      for (i32 k = 0; k < C; k++)
        if (cells.has_row(k)) z[rows[cells.row(k)]] = sum[k];
      return;
    }
    struct alignas(16) Pair {
      double first, second;
    };
    if constexpr (C > 1) {
      Pair* pairs = reinterpret_cast<Pair*>(z.p + cells.row(0));
      if (cells.has_row(C - 1) && reinterpret_cast<std::uintptr_t>(pairs) % sizeof(Pair) == 0) {
        for (i32 k = 0; k < C; k += 2) pairs[k / 2] = {sum[k], sum[k + 1]};
        return;
      }
    }
    for (i32 k = 0; k < C; k++)
      if (cells.has_row(k)) z[cells.row(k)] = sum[k];
  }
};

/// Tiles that a GPU's warp solves together.
constexpr int tiles_of_warp = 32;

using BlockIluKernels = KernelList<Kernel<TileSolve<tiles_of_warp>>, Kernel<TileSolve<tiles_of_warp, true>>>;

}  // namespace sordino
