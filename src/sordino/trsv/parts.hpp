// Parts of a triangle that threads go through at the same time, cut so that each has about as many entries. Who goes through
// them finds the same, however many there are: a row, or a column, is in one part.
#pragma once
#include <algorithm>
#include <vector>

#include "sordino/base/parallel.hpp"
#include "sordino/trsv/elimination_tree.hpp"

namespace sordino::trsv {

/// Where parts of the columns begin, and the last one ends, for so many threads (0: as many as there are cores); of a small
/// triangle for fewer.
std::vector<i64> columns_in_parts(const LowerPattern& pattern, int threads);
/// The same of rows, by a sample of the entries: a sorted pattern's, whose columns know where rows are. Of another one part.
std::vector<i64> rows_in_parts(const LowerPattern& pattern, int threads);

/// Calls body(begin, end) for each part, and throws what the first of those throws that do.
template <class Body>
void in_parts(const std::vector<i64>& cuts, int threads, const Body& body) {
  const auto run = [&](i64 first, i64 end) {
    for (i64 part = first; part < end; part++) body(cuts[std::size_t(part)], cuts[std::size_t(part) + 1]);
  };
  for_parts(0, i64(cuts.size()) - 1, run, 1, threads);
}

/// visit(k) for entries k from `begin` on, below `all`, whose rows are first, ..., end - 1: of a column whose rows increase, or
/// all of any.
template <class Visit>
void each_between(const LowerPattern& p, i64 begin, i64 all, i64 first, i64 end, const Visit& visit) {
  const i32 *row = p.rows + begin, *const last = p.rows + all;
  if (row < last && *row < first) row = std::lower_bound(row, last, i32(first));
  for (; row < last && *row < end; row++) visit(row - p.rows);
}

}  // namespace sordino::trsv
