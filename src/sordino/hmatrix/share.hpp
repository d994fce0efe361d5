// Which rank multiplies what of an H-matrix, whose vectors' rows are distributed contiguously.
#pragma once
#include <string>
#include <vector>

#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/hmatrix/row_set.hpp"
#include "sordino/linalg/partition.hpp"

namespace sordino::hmatrix {

/// rows: its own rows of each leaf. A leaf that ranks cut has its v read by each of them; the result needs no sum, and has the
/// same bits on any number of ranks. leaves: whole leaves, those about its rows, as HACApK has them (000, section III);
/// others' rows are sent to them, and added. grid: the same, where ranks with the same rows share their leaves by columns: each
/// needs fewer rows of the operand, and computes more of others' results.
enum class Distribution { rows, leaves, grid };

/// Throws bad_argument for what is none of their names.
Distribution distribution(const std::string& name);

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

/// Throws `unsupported` if a vector of the share's columns and so many terms has more rows than can be counted.
template <class V>
void require_countable(const Share<V>& share, i64 terms);

/// [n + 1]: how many values a product reads for the rows before each one; a block's v are shared by its rows.
template <class V>
std::vector<i64> costs_before(const HMatrixOf<V>& matrix);

}  // namespace sordino::hmatrix
