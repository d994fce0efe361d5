// Which rank multiplies what of an H-matrix, whose vectors' rows are distributed contiguously.
#pragma once
#include <vector>

#include "sordino/hmatrix/distribution.hpp"
#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/hmatrix/row_set.hpp"
#include "sordino/linalg/partition.hpp"

namespace sordino::hmatrix {

/// Of ranks in a grid those that share rows: the largest divisor of `ranks` that is no larger than its root.
int ranks_of_a_row(Distribution how, int ranks);

/// What a rank multiplies: of its leaves those rows that are among `rows`.
template <class V>
struct Share {
  std::vector<const LeafOf<V>*> leaves;  // by their first columns; those of rank zero are nobody's
  RowSet rows, columns;                  // with the rank's own; by leaves and in a grid one more row at least
};

/// O(leaves + rows). With `every_column` the columns are all there are.
template <class V>
Share<V> share_of(const HMatrixOf<V>& matrix, const Partition& partition, Distribution how, int rank,
                  bool every_column = false);
/// Rows of a leaf that a rank multiplies.
template <class V>
struct OwnedRows {
  const LeafOf<V>* leaf;
  RowRange rows;
  int rank;
};

/// Every row of every leaf but those of rank zero once, with the rank that multiplies it. O(ranks (leaves + rows)).
template <class V>
std::vector<OwnedRows<V>> owned_rows(const HMatrixOf<V>& matrix, const Partition& partition, Distribution how);
/// All of it.
template <class V>
Share<V> whole(const HMatrixOf<V>& matrix);

/// Throws bad_argument if the matrix holds a part, to which leaves of the share do not belong.
template <class V>
void require_held(const Share<V>& share);

/// Throws `unsupported` if a vector of the share's columns and so many terms has more rows than can be counted.
template <class V>
void require_countable(const Share<V>& share, i64 terms);

/// [n + 1]: how many values a product reads for the rows before each one; a block's v are shared by its rows.
template <class V>
std::vector<i64> costs_before(const HMatrixOf<V>& matrix);

}  // namespace sordino::hmatrix
