// Entries of a triangle as it was given, as those of L, L^T or L^H.
#pragma once
#include "sordino/trsv/parts.hpp"
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

/// The same for each entry of rows [first, end) of L, or of the columns of L^T or L^H that these are; each one's in the order
/// of each_entry_of. The pattern is sorted. Cost: a search in each column, too.
template <class V, class Entry>
void each_entry_across(const TriangleView<V>& L, How how, i64 first, i64 end, const Entry& entry) {
  const LowerPattern& p = L.pattern;
  for (i64 j = 0; j < end; j++) {
    if (L.unit && j >= first) entry(j, j, V{1});
    each_between(p, L.unit ? p.below(j) : p.begin[j], p.begin[j + 1], first, end, [&](i64 k) {
      if (how == How::plain)
        entry(p.rows[k], j, L.values[k]);
      else
        entry(j, p.rows[k], how == How::adjoint ? conjugate(L.values[k]) : L.values[k]);
    });
  }
}

/// For all entries, by so many threads (0: as many as there are cores), of which one has all entries of a row of L, L^T or L^H,
/// in the order of each_entry_of. Of L's rows, whose pattern is not sorted, by one thread.
template <class V, class Entry>
void each_entry_by_rows(const TriangleView<V>& L, How how, int threads, const Entry& entry) {
  if (how != How::plain)
    return in_parts(columns_in_parts(L.pattern, threads), threads,
                    [&](i64 begin, i64 end) { each_entry_of(L, how, begin, end, entry); });
  const std::vector<i64> cuts = rows_in_parts(L.pattern, threads);
  if (cuts.size() == 2) return each_entry_of(L, how, 0, L.pattern.n, entry);
  in_parts(cuts, threads, [&](i64 begin, i64 end) { each_entry_across(L, how, begin, end, entry); });
}
/// The same, of which one has all entries of a column.
template <class V, class Entry>
void each_entry_by_columns(const TriangleView<V>& L, How how, int threads, const Entry& entry) {
  const How turned = how == How::plain ? How::transposed : How::plain;
  each_entry_by_rows(L, turned, threads,
                     [&](i64 j, i64 i, V value) { entry(i, j, how == How::adjoint ? conjugate(value) : value); });
}

}  // namespace sordino::trsv
