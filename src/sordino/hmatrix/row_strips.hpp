// Row functors of an H-matrix's product, y = D x + U (V^T x), as two commands: z = (x, V^T x), whose rows are the points and
// the terms of all blocks, and y = (D U) z. Each row adds what belongs to it in an order of its own, so there are no atomics,
// and the bits depend neither on threads nor on ranks. Of a complex matrix both words of a row are computed together: its
// entries come from memory once; so are the rows of several vectors. For engines of a host; GPUs have panels (panel_rows.hpp).
#pragma once
#include <algorithm>

#include "sordino/hmatrix/values.hpp"
#include "sordino/linalg/csr_rows.hpp"

namespace sordino::hmatrix {

/// Values that lie beside each other, and the operand's rows that they are multiplied with.
template <class V>
struct PieceOf {
  const V* values;
  i32 first;  // of the operand, in the order of the rank's columns
  i32 length;
};

/// Rows of a cluster that is a leaf of the tree: all of them have the same pieces, one for each block that they lie in. Row i's
/// values of a piece are length * (i - row) behind those of the strip's first row.
struct Strip {
  i32 row;  // its first one, among those of the command
  u32 pieces;
};

/// Where a rank's columns lie in a vector's storage: own ones first, the others behind them; or all at their places.
struct Places {
  i32 begin = 0, rows = 0;  // own rows; a replicated vector's are all

  SORDINO_HD i32 of(i32 row) const { return row < begin ? rows + row : row < begin + rows ? row - begin : row; }
};

/// Row i of a vector of words.
template <class R>
R row_at(const double* vector, i32 i) {
  R row;
  std::copy_n(vector + i64(words_of<R>) * i, words_of<R>, words(&row));
  return row;
}

/// One piece times x, or rows of several x. Four sums by turns are what an adder needs to be busy.
template <class V, class Operand>
auto times(const V* values, i32 length, const Operand& operand) {
  decltype(operand(i32{})) s[4] = {};
  i32 k = 0;
  for (; k + 3 < length; k += 4)
    for (int j = 0; j < 4; j++) s[j] = s[j] + values[k + j] * operand(k + j);
  for (; k < length; k++) s[0] = s[0] + values[k] * operand(k);
  return (s[0] + s[1]) + (s[2] + s[3]);
}

/// Of x, wherever the rows from `first` on lie. The order of the sum does not depend on that.
template <class R, class V>
R times_rows(const V* values, i32 first, i32 length, const double* x, Places places) {
  const i32 at = places.of(first);
  if (places.of(first + length - 1) - at == length - 1)
    return times(values, length, [=](i32 k) { return row_at<R>(x, at + k); });
  return times(values, length, [=](i32 k) { return row_at<R>(x, places.of(first + k)); });
}

/// A row functor by words, of one that has x, y and the value of a row of C vectors. All words of a row are computed together,
/// unless `begin` or `end` parts them.
template <class Rows, class V, int C>
struct ByWords {
  using Row = RowOf<V, C>;
  static constexpr int lanes = 1;
  static constexpr int words = words_of<Row>;
  static constexpr bool turns = words_of<V> == 2 && C == 1;

  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(static_cast<Rows*>(this)->x);
    visit(static_cast<Rows*>(this)->y);
  }
  double sum(i32 i, int, int) const {
    if constexpr (words == 1)
      return rows().value(i);
    else
      return word(rows().value(i / words), i);
  }
  void store(i32 i, double value) const { rows().y[i] = value; }
  template <class From, class To>
  void products(const From&, const To& to, i32 begin, i32 end) const
    requires(words > 1)
  {
    for (i32 i = begin; i < end;) {
      const Row value = rows().value(i / words);
      do to[i] = word(value, i);
      while (++i < end && i % words > 0);
    }
  }
  /// Of a product that reads so many values and rows of the operand.
  static Cost cost_of(i64 values, i64 operands) {
    constexpr int of_value = words_of<V>;
    return {8.0 * of_value * double(values + C * operands), 2.0 * of_value * words * double(values)};
  }

 private:
  const Rows& rows() const { return static_cast<const Rows&>(*this); }
  static double word(const Row& value, i32 i) { return hmatrix::words(&value)[i % words]; }
};

/// z = (x, V^T x): x in the order of the rank's columns, and behind it a row for each term of the blocks.
template <class V, int C = 1>
struct Projections : ByWords<Projections<V, C>, V, C> {
  using Row = RowOf<V, C>;
  static constexpr const char* name = "Project";
  const PieceOf<V>* pieces;  // of each term
  i32 n;                     // rows of x
  Places places;
  i64 values;  // of all pieces
  Foreign<const double, Access::ghost> x;
  Out y;  // z

  Row value(i32 i) const {
    if (i < n) return row_at<Row>(x.p, places.of(i));
    const PieceOf<V> p = pieces[i - n];
    return times_rows<Row>(p.values, p.first, p.length, x.p, places);
  }
  Cost cost() const { return this->cost_of(values, n); }
};

/// Row i of y = (D U) z.
template <class V, int C = 1>
struct StripRows : ByWords<StripRows<V, C>, V, C> {
  using Row = RowOf<V, C>;
  static constexpr const char* name = "Strips";
  const Strip* strips;       // and one more, where the pieces end
  const i32* strip_of;       // [rows]
  const PieceOf<V>* pieces;  // their first is one of z
  i32 first;                 // where the rows begin in storage
  i64 values, operands;
  Foreign<const double, Access::read> x;  // z
  Out y;

  Row value(i32 i) const {
    Row sum{};
    add_pieces(i, 1, &sum);
    return sum;
  }
  /// Rows of a strip together, piece by piece: so a CPU reads the values in the order in which they lie.
  template <class From, class To>
  void products(const From&, const To& to, i32 first_word, i32 last_word) const {
    constexpr i32 words = words_of<Row>, together = 16;
    for (i32 row = first_word / words, last = (last_word + words - 1) / words, count; row < last; row += count) {
      const i32 left = strips[strip_of[row - first] + 1].row - (row - first);
      count = std::min({together, last - row, left});
      Row sums[together] = {};
      add_pieces(row, count, sums);
      const i32 begin_word = row * words, end_word = std::min(last_word, (row + count) * words);
      for (i32 i = std::max(first_word, begin_word); i < end_word; i++) to[i] = hmatrix::words(sums)[i - begin_word];
    }
  }
  Cost cost() const { return this->cost_of(values, operands); }

 private:
  /// What the rows [row, row + count) of one strip add up.
  void add_pieces(i32 row, i32 count, Row* sums) const {
    const Strip* strip = strips + strip_of[row - first];
    const i64 below = row - first - strip->row;
    for (u32 k = strip->pieces, end = strip[1].pieces; k < end; k++) {
      const PieceOf<V> p = pieces[k];
      const V* of_row = p.values + below * p.length;
      const double* operand = x.p + i64(words_of<Row>) * p.first;
      for (i32 r = 0; r < count; r++, of_row += p.length)
        sums[r] = sums[r] + times(of_row, p.length, [=](i32 j) { return row_at<Row>(operand, j); });
    }
  }
};

}  // namespace sordino::hmatrix
