// Entries of a triangle as it was given, as those of L, L^T or L^H.
#pragma once
#include "sordino/trsv/residual.hpp"

namespace sordino::trsv {

/// Calls entry(row, column, value) for each entry of columns [begin, end) of L, or of the rows of L^T or L^H that these are.
template <class V, class Entry>
void each_entry_of(const TriangleView<V>& L, How how, i64 begin, i64 end, const Entry& entry) {
  for (i64 j = begin; j < end; j++) {
    if (L.unit) entry(j, j, V{1});
    for (i64 k = L.pattern.begin[j]; k < L.pattern.begin[j + 1]; k++) {
      const i64 i = L.pattern.rows[k];
      if (L.unit && i == j) continue;
      if (how == How::plain)
        entry(i, j, L.values[k]);
      else
        entry(j, i, how == How::adjoint ? conjugate(L.values[k]) : L.values[k]);
    }
  }
}

}  // namespace sordino::trsv
