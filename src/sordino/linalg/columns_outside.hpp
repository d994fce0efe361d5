// Columns that rows of a slice touch outside of it, by diagonals: of each of these they are consecutive.
#pragma once
#include <vector>

#include "sordino/linalg/diagonals.hpp"

namespace sordino {

struct ColumnRange {
  i64 begin = 0, end = 0;
  i64 count() const { return end - begin; }
};

/// Those of one diagonal from [first, first + rows), of an n x n matrix, whether or not there is an entry.
ColumnRange columns_outside(i64 offset, i64 n, i64 first, i64 rows);

/// Those of all diagonals, increasing; ranges neither touch nor are empty.
std::vector<ColumnRange> ranges_outside(const Diagonals& diagonals, i64 n, i64 first, i64 rows);
i64 count_outside(const Diagonals& diagonals, i64 n, i64 first, i64 rows);  // how many

}  // namespace sordino
