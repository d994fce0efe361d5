// Row functors of relaxation in eight colours, for the 27 points of a grid's level: a cell's colour is whether its places in x,
// y and z of the grid are odd. So cells of a colour are not coupled, whatever ranks there are.
//
// Colours of even layers come before those of odd ones, and a rank owns whole layers: so nothing of other ranks is needed but
// once for four colours. What other layers make of them is one command over all rows, and what is left of b lies where x will
// be; then each colour is relaxed in place, by a command over its cells that reads its own layer. omega is 1, as of two colours
// (red_black.hpp).
//
// Entries lie by colours and neighbours, so that a command of one colour reads an eighth of them, and no columns.
#pragma once
#include "sordino/precond/layer_shape.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {
namespace eight_colours {

constexpr int colours = 8, layer_bit = 4;         // of a colour, whether layers are odd
constexpr int slots = 27, inverse_diagonal = 13;  // neighbours in x, y and z, x fastest, and 1 / diagonal in the middle

/// A rank's cells, by colours.
struct Cells {
  const double* stored;  // [colours][slots][count]
  LayerShape shape;
  i32 half[3];   // cells of a colour in each direction, some of which may be behind the end
  i32 count;     // half[0] half[1] half[2]
  i32 bit[3];    // of a colour, in each direction: the last one is that of layers
  i32 first[3];  // the parity of the rank's first place

  struct Cell {
    i32 at[3], colour, place, row;
  };
  SORDINO_HD Cell cell(i32 row) const {
    const i32 z = row / shape.stride[2], y = (row - z * shape.stride[2]) / shape.stride[1];
    Cell c{{row - z * shape.stride[2] - y * shape.stride[1], y, z}, 0, 0, row};
    for (int d = 2; d >= 0; d--) {
      if ((c.at[d] + first[d]) & 1) c.colour |= bit[d];
      c.place = c.place * half[d] + c.at[d] / 2;
    }
    return c;
  }
  /// Of a colour; false: behind the end.
  SORDINO_HD bool cell(i32 colour, i32 place, Cell& c) const {
    const i32 z = place / (half[0] * half[1]), y = (place - z * half[0] * half[1]) / half[0],
              halves[3] = {place - (z * half[1] + y) * half[0], y, z};
    c.colour = colour, c.place = place, c.row = 0;
    bool is_inside = true;
    for (int d = 0; d < 3; d++) {
      c.at[d] = 2 * halves[d] + (((colour & bit[d]) != 0) ^ first[d]);
      c.row += c.at[d] * shape.stride[d];
      is_inside = is_inside && c.at[d] < shape.cells[d];
    }
    return is_inside;
  }
  SORDINO_HD const double* entries(const Cell& c) const { return stored + i64(c.colour) * slots * count + c.place; }
  SORDINO_HD double inverse(const Cell& c) const { return entries(c)[i64(inverse_diagonal) * count]; }

  /// What the row's entries beside the diagonal make of the neighbours that are wanted: x(row, whether its colour is a higher
  /// one), wanted(whether it is in another layer, whether its colour is a higher one).
  template <class Wanted, class X>
  SORDINO_HD double coupled(const Cell& c, const Wanted& wanted, const X& x) const {
    i32 to[3][3];  // rows from the cell's own, [direction][step + 1]
    for (int d = 0; d < 3; d++) {
      to[d][0] = shape.neighbour(0, c.at[d], d, false), to[d][1] = 0;
      to[d][2] = shape.neighbour(0, c.at[d], d, true);
    }
    const double* entry = entries(c);
    double sum = 0;
    for (int z = 0; z < 3; z++)
      for (int y = 0; y < 3; y++)
        for (int ahead = 0; ahead < 3; ahead++, entry += count) {
          const i32 turned = (ahead != 1 ? bit[0] : 0) | (y != 1 ? bit[1] : 0) | (z != 1 ? bit[2] : 0);
          const bool is_higher = (c.colour ^ turned) > c.colour;
          if (turned == 0 || !wanted((turned & layer_bit) != 0, is_higher)) continue;
          if (*entry != 0) sum += *entry * x(c.row + to[0][ahead] + to[1][y] + to[2][z], is_higher);  // 0 where the box ends
        }
    return sum;
  }
  /// Bytes of so many of each cell's numbers, for the cells of one colour.
  double bytes_of(double numbers) const { return 8 * numbers * count; }
};

/// Over rows, from zero: what even layers begin with is b, and odd ones have nothing yet.
struct Begin {
  static constexpr const char* name = "Begin";
  Cells cells;
  In b;
  Out x;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(b);
    visit(x);
  }
  SORDINO_HD void row(i32 i) { x[i] = cells.cell(i).colour < layer_bit ? b[i] : 0; }
  Cost cost() const { return {0, 0}; }
};

/// Over rows: what the others' layers leave of b for even layers or for odd ones, and the others as they are.
struct Across {
  static constexpr const char* name = "Across layers";
  Cells cells;
  i32 odd;  // layer_bit, or 0 for even ones
  In b;
  Ghost x;
  Out to;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(b);
    visit(x);
    visit(to);
  }
  SORDINO_HD void row(i32 i) {
    const Cells::Cell c = cells.cell(i);
    const auto across = [](bool other_layer, bool) { return other_layer; };
    to[i] = (c.colour & layer_bit) != odd ? x[i] : b[i] - cells.coupled(c, across, [&](i32 k, bool) { return x[k]; });
  }
  Cost cost() const { return {4 * cells.bytes_of(18), 4 * 36.0 * cells.count}; }
};

/// Over the cells of a colour, in place, from zero: what lower colours of the layer leave, over D.
struct Relax {
  static constexpr const char* name = "Relax a colour";
  Cells cells;
  i32 colour;
  Foreign<double, Access::update> x;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
  }
  SORDINO_HD void row(i32 place) {
    Cells::Cell c;
    if (!cells.cell(colour, place, c)) return;
    const auto lower = [](bool other_layer, bool is_higher) { return !other_layer && !is_higher; };
    x[c.row] = cells.inverse(c) * (x[c.row] - cells.coupled(c, lower, [&](i32 k, bool) { return x[k]; }));
  }
  Cost cost() const { return {cells.bytes_of(1 + 4 + 2 + 2), 10.0 * cells.count}; }  // of eight neighbours four, on the mean
};

/// The same in the reverse order, where lower colours have what was before.
struct RelaxBack {
  static constexpr const char* name = "Relax a colour back";
  Cells cells;
  i32 colour;
  Foreign<const double, Access::read> before;
  Foreign<double, Access::update> x;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(before);
    visit(x);
  }
  SORDINO_HD void row(i32 place) {
    Cells::Cell c;
    if (!cells.cell(colour, place, c)) return;
    const auto in_layer = [](bool other_layer, bool) { return !other_layer; };
    const auto of = [&](i32 k, bool is_higher) { return is_higher ? x[k] : before[k]; };
    x[c.row] = cells.inverse(c) * (x[c.row] - cells.coupled(c, in_layer, of));
  }
  Cost cost() const { return {cells.bytes_of(1 + 8 + 2 + 3), 18.0 * cells.count}; }
};

/// Over rows: left = b - A x, where colours were relaxed one after the other from zero, so that of a row those are left that
/// came later.
struct Left {
  static constexpr const char* name = "Left of eight";
  Cells cells;
  Ghost x;
  Out left;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(left);
  }
  SORDINO_HD void row(i32 i) {
    const auto higher = [](bool, bool is_higher) { return is_higher; };
    left[i] = -cells.coupled(cells.cell(i), higher, [&](i32 k, bool) { return x[k]; });
  }
  Cost cost() const { return {colours * cells.bytes_of(0.5 * slots), 1.0 * colours * slots * cells.count}; }
};

/// Over rows: left = b - A x, whatever x is.
struct Residual {
  static constexpr const char* name = "Residual of eight";
  Cells cells;
  In b;
  Ghost x;
  Out left;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(b);
    visit(x);
    visit(left);
  }
  SORDINO_HD void row(i32 i) {
    const Cells::Cell c = cells.cell(i);
    const auto all = [](bool, bool) { return true; };
    left[i] = b[i] - x[i] / cells.inverse(c) - cells.coupled(c, all, [&](i32 k, bool) { return x[k]; });
  }
  Cost cost() const { return {colours * cells.bytes_of(slots), 2.0 * colours * slots * cells.count}; }
};

using Kernels = KernelList<Kernel<Begin>, Kernel<Across>, Kernel<Relax>, Kernel<RelaxBack>, Kernel<Left>, Kernel<Residual>>;

}  // namespace eight_colours
}  // namespace sordino
