// Columns outside of a slice, by diagonals, against a look at each row.
#include "sordino/linalg/columns_outside.hpp"

#include <set>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

TEST("columns outside of a slice are those that its rows touch, in ranges that are apart") {
  NOTE(fresh::said());
  fresh::Random random(1933);
  for (int trial = 0; trial < 300; trial++) {
    const i64 n = random.whole(1, 40), first = random.whole(0, n), rows = random.whole(0, n - first);
    std::set<i64> drawn{0}, outside;
    for (i64 k = random.whole(0, 6); k > 0; k--) drawn.insert(random.whole(1 - n, n - 1));
    Diagonals diagonals;
    diagonals.offsets.assign(drawn.begin(), drawn.end());
    NOTE("rows ", first, " to ", first + rows, " of ", n);
    for (i64 offset : diagonals.offsets) {
      std::set<i64> mine;
      for (i64 column = first + offset; column < first + rows + offset; column++)
        if (column >= 0 && column < n && (column < first || column >= first + rows)) mine.insert(column);
      const ColumnRange found = columns_outside(offset, n, first, rows);
      REQUIRE(found.count() == i64(mine.size()));
      if (!mine.empty()) CHECK((found.begin == *mine.begin() && found.end == *mine.rbegin() + 1));
      outside.insert(mine.begin(), mine.end());
    }
    CHECK(columns_outside(diagonals, n, first, rows) == std::vector<i64>(outside.begin(), outside.end()));
    CHECK(count_outside(diagonals, n, first, rows) == i64(outside.size()));
    i64 before = -2;
    for (const ColumnRange& range : ranges_outside(diagonals, n, first, rows)) {
      CHECK((range.count() > 0 && range.begin > before));
      before = range.end;
    }
  }
}
