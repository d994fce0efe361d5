// Rows of a triangle in the order of their levels: what substitution needs, row by row.
//
// A row's level is how many rows wait for one another before it. Rows are numbered by level, and by their index in a level, and
// x is kept in that order: a row's entries stand in the order in which what they multiply is there, the last one last. This is
// for triangles whose pattern elimination would fill: nothing is stored but the entries that were given.
#pragma once
#include <vector>

#include "sordino/base/large_array.hpp"
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

/// L's rows: their order and levels alone. Entries of the pattern on the diagonal are passed over. Cost: linear in the entries,
/// by one thread.
LevelRows ordered_rows(const LowerPattern& pattern);
/// Those of L^T, from L's.
LevelRows ordered_rows_back(const LevelRows& forward);

/// Sets begin and columns, and values `to` that are copied beside them. `lists`: L's columns, or L's rows by places for those
/// of L^T; a list and what is in it are at these places. The list's own number is passed over. Cost: linear in the entries, up
/// to putting a row's in order, and a look at each list, by so many threads (0: as many as there are cores; one of lists that
/// are not sorted).
template <class V>
void take_entries(LevelRows& rows, const LowerPattern& lists, const std::vector<i32>& place, const V* from, LargeArray<V>& to,
                  int threads);

}  // namespace sordino::trsv
