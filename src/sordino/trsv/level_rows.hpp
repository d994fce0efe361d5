// Rows of a triangle in the order of their levels: what substitution needs, row by row.
//
// A row's level is how many rows wait for one another before it. Rows are numbered by level, and by their index in a level, and
// x is kept in that order: a row's entries stand in the order in which what they multiply is there, the last one last. This is
// for triangles whose pattern elimination would fill: nothing is stored but the entries that were given.
#pragma once
#include <vector>

#include "sordino/trsv/elimination_tree.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// Of L on the way forward, of L^T on the way back; off the diagonal.
struct LevelRows {
  Direction direction = Direction::forward;
  i64 n = 0;
  std::vector<i32> order;        // [n] place k is row order[k] of the triangle
  std::vector<i32> level_begin;  // [levels + 1] places
  std::vector<i64> begin;        // [n + 1] of a place's entries
  std::vector<i32> columns;      // [entries] places, in increasing order, all of smaller levels

  i32 levels() const { return i32(level_begin.size()) - 1; }
  i32 count(i64 place) const { return i32(begin[std::size_t(place) + 1] - begin[std::size_t(place)]); }
  i64 entries() const { return begin.back(); }
};

/// The sum of a row with more than `long_row` entries is that of 32 sums: the k-th is of entries k, k + 32, ..., and they are
/// added in halves, 16 to 16, 8 to 8, and so on. That of others is added entry by entry. So a sum has one order, whoever
/// computes it, one thread or 32.
inline constexpr i32 long_row = 64, sums_of_long_row = 32;

/// The place of each row of the triangle. [n]
std::vector<i32> places_of(const LevelRows& rows);

/// Sets order and level_begin: rows by their levels, and in a level by their index. At least one row.
void sort_by_level(const std::vector<i32>& level, LevelRows& rows);

/// L's rows. Entries of the pattern on the diagonal are passed over. Cost: linear in the entries, by one thread.
LevelRows find_level_rows(const LowerPattern& pattern);
/// Those of L^T, from L's.
LevelRows transposed(const LevelRows& forward);

/// `visit(row, column, k)` for each entry off the diagonal of column j = rows.order[column] of the pattern, by places, columns
/// in increasing order: entry k of the pattern's.
template <class Visit>
void each_entry(const LowerPattern& pattern, const LevelRows& rows, const std::vector<i32>& place, const Visit& visit) {
  for (i64 c = 0; c < rows.n; c++) {
    const i64 j = rows.order[std::size_t(c)];
    for (i64 k = pattern.begin[j]; k < pattern.begin[j + 1]; k++)
      if (pattern.rows[k] != j) visit(place[std::size_t(pattern.rows[k])], i32(c), k);
  }
}

/// The same for L^T's rows, from L's: entry k of those.
template <class Visit>
void each_entry(const LevelRows& forward, const LevelRows& rows, const std::vector<i32>& place,
                const std::vector<i32>& place_forward, const Visit& visit) {
  for (i64 c = 0; c < rows.n; c++) {
    const std::size_t i = std::size_t(place_forward[std::size_t(rows.order[std::size_t(c)])]);
    for (i64 k = forward.begin[i]; k < forward.begin[i + 1]; k++)
      visit(place[std::size_t(forward.order[std::size_t(forward.columns[std::size_t(k)])])], i32(c), k);
  }
}

}  // namespace sordino::trsv
