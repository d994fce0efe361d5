// The product's rows of some rows of an H-matrix: which pieces of which leaves each of them needs.
#pragma once
#include <vector>

#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/hmatrix/row_strips.hpp"

namespace sordino::hmatrix {

/// Tables of the two commands of a product, for rows [rows.begin, rows.end) in the tree's order. Values are those of the
/// matrix, where they lie; blocks that reach beyond these rows are projected as a whole. Memory: 16 B a term and 16 B a piece.
struct Strips {
  Strips(const HMatrix& matrix, RowRange rows);

  RowRange rows;
  std::vector<Piece> projections;  // those whose columns are among the rows first: `own` of them
  i32 own = 0;
  std::vector<Strip> strips;  // and one more, where they end
  std::vector<i32> strip_of;  // [rows]
  std::vector<Piece> pieces;  // of z: x, and behind it the terms
  i64 projected_values = 0, strip_values = 0;
};

/// [n + 1]: how many values a product reads for the rows before each one; a block's v are shared by its rows.
std::vector<i64> costs_before(const HMatrix& matrix);

}  // namespace sordino::hmatrix
