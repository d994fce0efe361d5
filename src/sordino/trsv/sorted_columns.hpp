// Columns of a triangle as somebody has them, put in order.
#pragma once
#include "sordino/base/large_array.hpp"
#include "sordino/trsv/elimination_tree.hpp"

namespace sordino::trsv {

template <class V>
struct SortedColumns {
  LargeArray<i32> rows;  // [entries] of each column in increasing order
  LargeArray<V> values;  // [entries] beside them
  bool moved = false;    // they stood in another order before
  bool unique = true;    // none stands twice in its column
};

/// Cost: linear in the entries where the rows of a column are in order, or in the order of the last ones of the column before,
/// as SuperLU has those of a supernode; else each column is sorted. By so many threads; 0: as many as there are cores.
template <class V>
SortedColumns<V> sorted_columns(const LowerPattern& pattern, const V* values, int threads);

}  // namespace sordino::trsv
