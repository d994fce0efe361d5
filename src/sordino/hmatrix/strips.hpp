// The product's rows of a rank's share of an H-matrix: which pieces of which leaves each of them needs. Values are those of the
// matrix, where they lie.
#pragma once
#include <algorithm>
#include <vector>

#include "sordino/hmatrix/row_strips.hpp"
#include "sordino/hmatrix/share.hpp"

namespace sordino::hmatrix {

/// Where each cluster that is a leaf of the tree has some of these rows: what follows one another.
std::vector<RowRange> strips_of(const ClusterTree& tree, const RowSet& rows);

/// The numbers of those that meet these rows.
RowRange strips_met(RowRange rows, const std::vector<RowRange>& strips);

/// Calls visit(strip) for those that meet these rows.
template <class Visit>
void each_strip(RowRange rows, const std::vector<RowRange>& strips, const Visit& visit) {
  const RowRange met = strips_met(rows, strips);
  for (i32 s = met.begin; s < met.end; s++) visit(std::size_t(s));
}

/// Of V: a row for each term of the share's leaves; those whose columns are within `own` first. Memory: 16 B a term.
template <class V>
struct TermTable {
  TermTable(const Share<V>& share, RowRange own);

  std::vector<i32> first;          // [leaves] the first term of each; of dense ones none
  std::vector<PieceOf<V>> pieces;  // of the share's columns
  i32 own = 0;
  i64 values = 0;
};

/// Of D and U: what the share has of some of its rows. Memory: 16 B a piece, 4 B a row.
template <class V>
struct StripTable {
  StripTable(const ClusterTree& tree, const Share<V>& share, const TermTable<V>& terms, const RowSet& rows);

  std::vector<Strip> strips;       // and one more, where they end
  std::vector<i32> strip_of;       // [rows]
  std::vector<PieceOf<V>> pieces;  // of z: the share's columns, and behind them the terms
  i64 values = 0, operands = 0;    // that are read, rows of z at most once
};

}  // namespace sordino::hmatrix
