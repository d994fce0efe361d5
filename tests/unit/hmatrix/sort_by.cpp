// Sorting by whole numbers, beside the standard library's.
#include "sordino/hmatrix/sort_by.hpp"

#include <algorithm>
#include <tuple>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

TEST(
    "sorting by a number keeps the order of those that have the same, and by several numbers goes from the last to the first") {
  NOTE(fresh::said());
  fresh::Random random(102);
  struct Item {
    i64 first, second, place;
    auto operator<=>(const Item&) const = default;
  };
  for (i64 count : {0, 1, 2, 500})
    for (i64 keys : {1, 3, 1000}) {
      NOTE(count, " items, ", keys, " keys");
      std::vector<Item> items;
      for (i64 k = 0; k < count; k++) items.push_back({random.whole(0, keys - 1), random.whole(0, keys - 1), k});
      std::vector<Item> expected = items;
      std::ranges::sort(expected);
      hmatrix::sort_by(items, keys, [](const Item& item) { return item.second; });
      CHECK(std::ranges::is_sorted(items, {}, [](const Item& item) { return std::tuple(item.second, item.place); }));
      hmatrix::sort_by(items, keys, [](const Item& item) { return item.first; });
      CHECK(items == expected);
    }
}
