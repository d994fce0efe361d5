// Ghosts by ranges, against their rows one by one.
#include "sordino/linalg/ghost_ranges.hpp"

#include <algorithm>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

TEST("ghosts by ranges are at the places that their rows have") {
  NOTE(fresh::said());
  fresh::Random random(1934);
  for (int trial = 0; trial < 200; trial++) {
    std::vector<i64> rows;
    std::vector<ColumnRange> ranges;
    for (i64 at = random.whole(0, 3); at < 60;) {
      const i64 end = at + random.whole(1, 9);
      ranges.push_back({at, end});
      for (; at < end; at++) rows.push_back(at);
      at += random.whole(0, 4);  // some touch
    }
    for (const GhostRanges& ghosts : {GhostRanges(ranges), GhostRanges(rows)}) {
      CHECK(ghosts.count() == i64(rows.size()));
      CHECK(ghosts.rows() == rows);
      for (std::size_t k = 1; k < ghosts.ranges().size(); k++) CHECK(ghosts.ranges()[k - 1].end < ghosts.ranges()[k].begin);
      for (i64 row = 0; row < 75; row++)
        CHECK(ghosts.place(row) == std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
    }
  }
  const GhostRanges none{std::vector<ColumnRange>{}};
  CHECK(none.count() == 0);
  CHECK(none.place(5) == 0);
}
