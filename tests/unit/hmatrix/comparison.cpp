// Which entries are compared with crosses: all where they are few, else some of each row and each column, without bias.
#include "sordino/hmatrix/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "check.hpp"
#include "unit/fresh.hpp"

namespace {

using namespace sordino;
using namespace sordino::hmatrix;

/// Different numbers below n, which increase.
std::vector<i32> some_of(fresh::Random& random, i32 n, i32 count) {
  std::set<i32> chosen;
  while (i32(chosen.size()) < count) chosen.insert(i32(random.whole(0, n - 1)));
  std::vector<i32> sorted;
  for (i32 value : chosen) {
    sorted.resize(sorted.size() + 1);
    insert(sorted.data(), i32(sorted.size()) - 1, value);
  }
  return sorted;
}

struct Drawn {
  i32 height, width;
  std::vector<i32> rows, columns;
  Comparison entries(u64 draws) const { return {height, width, {rows.data(), columns.data(), i32(rows.size())}, draws}; }
};

Drawn drawn(fresh::Random& random, i32 most) {
  const i32 height = i32(random.whole(1, most)), width = i32(random.whole(1, most));
  const i32 terms = i32(random.whole(0, std::min({height, width, 20})));
  return {height, width, some_of(random, height, terms), some_of(random, width, terms)};
}

}  // namespace

TEST("numbers are permuted, otherwise by another key") {
  for (i32 n : {1, 2, 3, 7, 64, 65, 1000}) {
    const Permutation order(n);
    std::set<i32> places;
    i32 moved = 0;
    for (i32 k = 0; k < n; k++) {
      places.insert(order.at(k, 5));
      moved += order.at(k, 5) != order.at(k, 6);
    }
    NOTE("n = ", n);
    CHECK(i32(places.size()) == n);
    CHECK(*places.begin() == 0);
    CHECK(*places.rbegin() == n - 1);
    if (n >= 64) CHECK(moved > n / 2);
  }
}

TEST("no cross is compared, few entries all are, and of more each row and each column has a part") {
  NOTE(fresh::said());
  fresh::Random random(81);
  for (int time = 0; time < 300; time++) {
    const Drawn block = drawn(random, time % 2 ? 60 : 400);
    const Comparison entries = block.entries(u64(random.whole(0, 1 << 30)));
    std::set<std::pair<i32, i32>> seen;
    std::set<i32> rows, columns;
    for (i64 k = 0; k < entries.count(); k++) {
      const auto [i, j] = entries.at(k);
      CHECK(0 <= std::min(i, j));
      CHECK(i < block.height);
      CHECK(j < block.width);
      seen.insert({i, j}), rows.insert(i), columns.insert(j);
      CHECK(entries.at(k - k % entries.in_a_row()).row == i);
    }
    for (i32 i : block.rows) CHECK(!rows.contains(i));
    for (i32 j : block.columns) CHECK(!columns.contains(j));
    const i32 terms = i32(block.rows.size());
    const i64 left = i64(block.height - terms) * (block.width - terms);
    NOTE(block.height, " x ", block.width, ", ", terms, " terms");
    if (left <= few_entries) CHECK(entries.is_whole());
    if (entries.is_whole()) CHECK(i64(seen.size()) == left);
    if (left > 0) CHECK(i32(rows.size()) == block.height - terms);
    if (left > 0) CHECK(i32(columns.size()) == block.width - terms);
    CHECK(entries.count() <= std::max({few_entries, i64(0.5 * terms * (block.height + block.width)),
                                       i64(std::max(block.height, block.width)) + least_draws}));
  }
}

TEST("what is drawn estimates the sum over all entries without bias") {
  NOTE(fresh::said());
  fresh::Random random(82);
  const Drawn block{70, 110, some_of(random, 70, 4), some_of(random, 110, 4)};
  const std::vector<double> weights = random.normals(70 * 110);
  double all = 0, mean = 0, squares = 0;
  for (i32 i = 0; i < 70; i++)
    for (i32 j = 0; j < 110; j++)
      if (!std::ranges::binary_search(block.rows, i) && !std::ranges::binary_search(block.columns, j))
        all += std::pow(weights[std::size_t(110 * i + j)], 2);
  constexpr int times = 4000;
  for (int time = 0; time < times; time++) {
    const Comparison entries = block.entries(u64(random.whole(0, i64(1) << 60)));
    CHECK(!entries.is_whole());
    double sum = 0;
    for (i64 k = 0; k < entries.count(); k++) {
      const auto [i, j] = entries.at(k);
      sum += entries.scale() * std::pow(weights[std::size_t(110 * i + j)], 2);
    }
    mean += sum / times, squares += sum * sum / times;
  }
  CHECK_NEAR(mean, all, 6 * std::sqrt((squares - mean * mean) / times));
}
