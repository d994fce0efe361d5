// Pivots that are so small beside the entries of their row or of their column that elimination may have meant them to be zero.
#pragma once
#include "sordino/trsv/factor.hpp"

namespace sordino::trsv {

struct TinyPivots {
  i64 count = 0;
  i64 row = -1;           // of the one that is smallest beside these entries
  double pivot = 0;       // its size
  double largest = 0;     // that of the largest entry of its row or its column, whichever is larger
  bool in_column = true;  // which of the two
};

/// A pivot is tiny below this part of the largest entry of its row or column: four roundings of V for each row of the triangle,
/// which elimination leaves of a pivot that is zero, and never more than the root of a rounding.
template <class V>
double tiny_part(i64 n);

/// None of a unit diagonal. The triangle is one that validate() takes. Cost: a pass over the entries by so many threads (0: as
/// many as there are cores), and 24 B a row.
template <class V>
TinyPivots tiny_pivots(const TriangleView<V>& L, int threads = 1);

}  // namespace sordino::trsv
