// Row functors of relaxation in two colours, for the 7 points of a grid's level: a cell is red where its places in x, y and z
// of the grid add up to an even number, and black else. So cells of a colour are not coupled, and a sweep is two commands, each
// over all rows, whatever ranks there are (Young, Iterative Solution of Large Linear Systems, 1971). omega is 1: what is
// relaxed last leaves nothing, and larger ones took no fewer iterations (docs/adr/0056).
//
// Entries lie by colours and neighbours, so that a command of one colour reads half of them, and no columns.
#pragma once
#include "sordino/precond/layer_shape.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {
namespace red_black {

constexpr int slots = 7;  // z, y and x before the cell, x, y and z behind it, and 1 / diagonal
constexpr int inverse_diagonal = 6;

/// A rank's cells, two of a line in x a pair: of such a one at most one is of a colour.
struct Cells {
  const double* stored;  // [slots][2 colours][pairs]
  LayerShape shape;
  i32 half;   // pairs of a line
  i32 pairs;  // of all
  i32 first;  // of the grid's layers, the rank's first one: 0 or 1, as it is even or odd

  /// A cell's places, and whether it is black.
  struct Cell {
    i32 at[3];
    i32 black;
  };
  SORDINO_HD Cell cell(i32 i) const {
    const i32 z = i / shape.stride[2], y = (i - z * shape.stride[2]) / shape.stride[1],
              x = i - z * shape.stride[2] - y * shape.stride[1];
    return {{x, y, z}, (x + y + z + first) & 1};
  }
  /// The one of the row behind.
  SORDINO_HD void advance(Cell& c) const {
    c.black ^= 1;
    if (++c.at[0] < shape.cells[0]) return;
    c.at[0] = 0;
    if (++c.at[1] == shape.cells[1]) c.at[1] = 0, c.at[2]++;
    c.black = (c.at[1] + c.at[2] + first) & 1;
  }
  SORDINO_HD i64 place(const Cell& c, int slot) const {
    return i64(2 * slot + c.black) * pairs + (c.at[1] + c.at[2] * shape.cells[1]) * half + c.at[0] / 2;
  }
  SORDINO_HD double inverse(const Cell& c) const { return stored[place(c, inverse_diagonal)]; }
  /// What the row's entries beside the diagonal make of x.
  template <class X>
  SORDINO_HD double coupled(i32 i, const Cell& c, const X& x) const {
    const double* entry = stored + place(c, 0);
    const i64 next = 2 * i64(pairs);
    double sum = 0;
    for (int d = 3; d-- > 0; entry += next) sum += *entry * x[shape.neighbour(i, c.at[d], d, false)];
    for (int d = 0; d < 3; d++, entry += next) sum += *entry * x[shape.neighbour(i, c.at[d], d, true)];
    return sum;
  }
  /// Bytes of so many of a cell's numbers, for the cells of one colour.
  double bytes_of(int numbers) const { return 8.0 * numbers * pairs; }
};

/// A functor's rows one after the other on a CPU, without divisions.
template <class F>
void rows(F& f, i32 begin, i32 end) {
  if (begin >= end) return;
  auto c = f.cells.cell(begin);
  for (i32 i = begin; i < end; i++, f.cells.advance(c)) f.of(i, c);
}

/// The first colour's rows from zero: x = b / D where a cell is red, else 0.
struct First {
  static constexpr const char* name = "Red";
  Cells cells;
  In b;
  Out x;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(b);
    visit(x);
  }
  SORDINO_HD void of(i32 i, const Cells::Cell& c) { x[i] = c.black ? 0 : cells.inverse(c) * b[i]; }
  SORDINO_HD void row(i32 i) { of(i, cells.cell(i)); }
  void block(i32 begin, i32 end) { rows(*this, begin, end); }
  void done(i32) {}
  Cost cost() const { return {cells.bytes_of(1), 1.0 * cells.pairs}; }
};

/// One colour's rows, and the other's as they are: to = x + (b - A x) / D.
struct Relax {
  static constexpr const char* name = "Relax";
  Cells cells;
  i32 black;  // which colour
  In b;
  Ghost x;
  Out to;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(b);
    visit(x);
    visit(to);
  }
  SORDINO_HD void of(i32 i, const Cells::Cell& c) {
    to[i] = c.black == black ? cells.inverse(c) * (b[i] - cells.coupled(i, c, x)) : x[i];
  }
  SORDINO_HD void row(i32 i) { of(i, cells.cell(i)); }
  void block(i32 begin, i32 end) { rows(*this, begin, end); }
  void done(i32) {}
  Cost cost() const { return {cells.bytes_of(slots), 14.0 * cells.pairs}; }
};

/// left = b - A x, where red rows were relaxed from zero, so that their own part of A x is b, and then black ones: of these
/// nothing is left.
struct Left {
  static constexpr const char* name = "Left";
  Cells cells;
  Ghost x;
  Out left;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(left);
  }
  SORDINO_HD void of(i32 i, const Cells::Cell& c) { left[i] = c.black ? 0 : -cells.coupled(i, c, x); }
  SORDINO_HD void row(i32 i) { of(i, cells.cell(i)); }
  void block(i32 begin, i32 end) { rows(*this, begin, end); }
  void done(i32) {}
  Cost cost() const { return {cells.bytes_of(slots - 1), 12.0 * cells.pairs}; }
};

/// left = b - A x, whatever x is.
struct Residual {
  static constexpr const char* name = "Residual";
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
  SORDINO_HD void of(i32 i, const Cells::Cell& c) { left[i] = b[i] - x[i] / cells.inverse(c) - cells.coupled(i, c, x); }
  SORDINO_HD void row(i32 i) { of(i, cells.cell(i)); }
  void block(i32 begin, i32 end) { rows(*this, begin, end); }
  void done(i32) {}
  Cost cost() const { return {2 * cells.bytes_of(slots), 30.0 * cells.pairs}; }
};

using Kernels = KernelList<Kernel<First>, Kernel<Relax>, Kernel<Left>, Kernel<Residual>>;

}  // namespace red_black
}  // namespace sordino
