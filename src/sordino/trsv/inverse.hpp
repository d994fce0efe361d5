// Inverses of the dense triangles on a factor's diagonal.
#pragma once
#include <utility>

#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// to[i] += from[i] * a
template <class V>
void add_multiple(V a, const V* from, V* to, i64 count) {
  for (i64 i = 0; i < count; i++) to[i] = to[i] + from[i] * a;
}

/// The lower triangle D of w columns becomes its inverse, from its last column to its first: X(j) = -X D(j) / D(j, j), with the
/// columns of X behind j. `below` has room for w.
template <class V>
void invert(V* D, i64 lead, i64 w, bool unit, V* below) {
  for (i64 j = w; j-- > 0;) {
    V* column = D + j * lead;
    const V pivot = unit ? V{1} : reciprocal(column[j]);
    for (i64 k = j + 1; k < w; k++) below[k] = std::exchange(column[k], V{});
    column[j] = pivot;
    for (i64 k = j + 1; k < w; k++) add_multiple(V{} - below[k] * pivot, D + k * lead + k, column + k, w - k);
  }
}

}  // namespace sordino::trsv
