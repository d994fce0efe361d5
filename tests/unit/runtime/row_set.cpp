// Rows of ranges, and runs of rows that are sent, against rows one by one.
#include "sordino/runtime/row_set.hpp"

#include <algorithm>

#include "check.hpp"
#include "sordino/runtime/sent_runs.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

TEST("a set of ranges has all or some of other rows as its rows say one by one") {
  NOTE(fresh::said());
  fresh::Random random(1931);
  for (int trial = 0; trial < 200; trial++) {
    const i32 rows = i32(random.whole(1, 60));
    std::vector<char> is_there(std::size_t(rows), 0);
    std::vector<RowRange> ranges;
    for (i32 at = 0; at < rows;) {
      const i32 end = std::min(rows, at + i32(random.whole(0, 6)));  // some touch, some are empty
      if (random.chance(0.5)) {
        ranges.push_back({at, end});
        std::fill(is_there.begin() + at, is_there.begin() + end, 1);
      }
      at = std::max(end, at + i32(random.chance(0.3)));
    }
    RowSet set;
    const auto half = std::ptrdiff_t(ranges.size() / 2);
    set.add({ranges.begin() + half, ranges.end()});
    set.add({ranges.begin(), ranges.begin() + half});
    set.sort();
    for (i32 begin = 0; begin < rows; begin++)
      for (i32 end = begin + 1; end <= rows; end++) {
        NOTE(begin, " to ", end);
        const auto first = is_there.begin() + begin, last = is_there.begin() + end;
        CHECK(set.has_all({begin, end}) == (std::count(first, last, 1) == last - first));
        CHECK(set.has_some({begin, end}) == (std::count(first, last, 1) > 0));
      }
    CHECK(set.has_all({3, 3}));
    CHECK(!set.has_some({3, 3}));
  }
}

TEST("rows that are sent come in as few pieces as can be, in order") {
  NOTE(fresh::said());
  fresh::Random random(1932);
  for (int trial = 0; trial < 100; trial++) {
    ExchangePeer peer;
    for (i32 row = 0; row < 50; row++)
      if (random.chance(0.7)) peer.send_rows.push_back(row);
    if (trial % 3 == 0) std::reverse(peer.send_rows.begin(), peer.send_rows.end());
    peer.send_count = i32(peer.send_rows.size());
    std::vector<i32> all;
    i32 last = -2;
    for_sent_runs(peer, [&](RowRange rows, i32 k) {
      CHECK(k == i32(all.size()));
      CHECK(rows.begin != last + 1);
      for (i32 row = rows.begin; row < rows.end; row++) all.push_back(row);
      last = rows.end - 1;
    });
    CHECK(all == peer.send_rows);
  }
  ExchangePeer layer;
  layer.send_first = 7, layer.send_count = 1 << 20;
  int pieces = 0;
  for_sent_runs(layer, [&](RowRange rows, i32 k) {
    CHECK((rows.begin == 7 && rows.size() == 1 << 20 && k == 0));
    pieces++;
  });
  CHECK(pieces == 1);
  layer.send_count = 0;
  for_sent_runs(layer, [&](RowRange, i32) { CHECK(false); });
}
