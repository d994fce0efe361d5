// Row functors of an H-matrix's product, y = D x + U (V^T x), as two commands: z = (x, V^T x), whose rows are the points and
// the terms of all blocks, and y = (D U) z. Each row adds what belongs to it in an order of its own, so there are no atomics,
// and the bits depend neither on threads nor on ranks. For engines of a host; GPUs have panels (panel_rows.hpp).
#pragma once
#include "sordino/linalg/csr_rows.hpp"

namespace sordino::hmatrix {

/// Values that lie beside each other, and the operand's rows that they are multiplied with.
struct Piece {
  const double* values;
  i32 first;  // of the operand, in the order of the whole
  i32 length;
};

/// Rows of a cluster that is a leaf of the tree: all of them have the same pieces, one for each block that they lie in. Row i's
/// values of a piece are length * (i - row) behind those of the strip's first row.
struct Strip {
  i32 row;  // its first one, in the order of the whole
  u32 pieces;
};

/// Where rows of the whole lie in a vector's storage: own ones first, the others behind them; or all at their places.
struct Places {
  i32 begin = 0, rows = 0;  // own rows; a replicated vector's are all

  SORDINO_HD i32 of(i32 row) const { return row < begin ? rows + row : row < begin + rows ? row - begin : row; }
};

/// One piece times x. Four sums by turns are what an adder needs to be busy.
template <class Operand>
double times(const double* values, i32 length, const Operand& operand) {
  double s[4] = {};
  i32 k = 0;
  for (; k + 3 < length; k += 4)
    for (int j = 0; j < 4; j++) s[j] += values[k + j] * operand(k + j);
  for (; k < length; k++) s[0] += values[k] * operand(k);
  return (s[0] + s[1]) + (s[2] + s[3]);
}

/// Of x, wherever the rows from `first` on lie. The order of the sum does not depend on that.
inline double times_rows(const double* values, i32 first, i32 length, const double* x, Places places) {
  const i32 at = places.of(first);
  if (places.of(first + length - 1) - at == length - 1) return times(values, length, [=](i32 k) { return x[at + k]; });
  return times(values, length, [=](i32 k) { return x[places.of(first + k)]; });
}

/// z = (x, V^T x): x in the order of the whole, and behind it a row for each term of the blocks.
struct Projections {
  static constexpr int lanes = 1;
  static constexpr bool turns = false;
  static constexpr const char* name = "Project";
  const Piece* pieces;  // of each term
  i32 n;                // rows of x
  Places places;
  i64 values;  // of all pieces
  Foreign<const double, Access::ghost> x;
  Out z;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(z);
  }
  double sum(i32 i, int, int) const {
    if (i < n) return x[places.of(i)];
    const Piece p = pieces[i - n];
    return times_rows(p.values, p.first, p.length, x.p, places);
  }
  void store(i32 i, double value) const { z[i] = value; }
  Cost cost() const { return {8.0 * double(values + n), 2.0 * double(values)}; }
};

/// Row i of y = (D U) z.
struct StripRows {
  static constexpr int lanes = 1;
  static constexpr bool turns = false;
  static constexpr const char* name = "Strips";
  const Strip* strips;  // and one more, where the pieces end
  const i32* strip_of;  // [own rows]
  const Piece* pieces;  // their first is one of z
  i32 begin, first;     // the first own row, in the whole and in storage
  i64 values, operands;
  Foreign<const double, Access::read> z;
  Out y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(z);
    visit(y);
  }
  double sum(i32 i, int, int) const {
    const Strip* strip = strips + strip_of[i - first];
    const i64 below = i - first + begin - strip->row;
    double s = 0;
    for (u32 k = strip->pieces, end = strip[1].pieces; k < end; k++) {
      const Piece p = pieces[k];
      const double* operand = z.p + p.first;
      s += times(p.values + below * p.length, p.length, [=](i32 j) { return operand[j]; });
    }
    return s;
  }
  void store(i32 i, double value) const { y[i] = value; }
  Cost cost() const { return {8.0 * double(values + operands), 2.0 * double(values)}; }
};

}  // namespace sordino::hmatrix
