// The product's rows of some rows of an H-matrix: which pieces of which leaves each of them needs.
#pragma once
#include <algorithm>
#include <vector>

#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/hmatrix/row_strips.hpp"

namespace sordino::hmatrix {

/// First rows of the strips of these rows, and their end.
std::vector<i32> cuts_of(const ClusterTree& tree, RowRange rows);
/// Leaves with values for these rows, from left to right.
template <class V>
std::vector<const LeafOf<V>*> leaves_of(const HMatrixOf<V>& matrix, RowRange rows);

/// Calls visit(strip) for those that meet these rows.
template <class Visit>
void each_strip(RowRange rows, const std::vector<i32>& cuts, const Visit& visit) {
  auto strip = std::upper_bound(cuts.begin(), cuts.end(), rows.begin) - cuts.begin() - 1;
  for (strip = std::max<std::ptrdiff_t>(strip, 0); strip + 1 < i64(cuts.size()) && cuts[std::size_t(strip)] < rows.end; strip++)
    visit(std::size_t(strip));
}

/// Tables of the two commands of a product, for rows [rows.begin, rows.end) in the tree's order. Values are those of the
/// matrix, where they lie; blocks that reach beyond these rows are projected as a whole. Memory: 16 B a term and 16 B a piece.
template <class V>
struct StripsOf {
  StripsOf(const HMatrixOf<V>& matrix, RowRange rows);

  RowRange rows;
  std::vector<PieceOf<V>> projections;  // those whose columns are among the rows first: `own` of them
  i32 own = 0;
  std::vector<Strip> strips;       // and one more, where they end
  std::vector<i32> strip_of;       // [rows]
  std::vector<PieceOf<V>> pieces;  // of z: x, and behind it the terms
  i64 projected_values = 0, strip_values = 0;
};
using Strips = StripsOf<double>;

/// [n + 1]: how many values a product reads for the rows before each one; a block's v are shared by its rows.
template <class V>
std::vector<i64> costs_before(const HMatrixOf<V>& matrix);

}  // namespace sordino::hmatrix
