// Which rank multiplies what of an H-matrix: every leaf once, in shares that are about equal.
#include "sordino/hmatrix/share.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "check.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/hmatrix/panels.hpp"
#include "sordino/hmatrix/strips.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"

using namespace sordino;
using namespace sordino::hmatrix;

namespace {

std::vector<char> marked(i32 n, const std::vector<RowRange>& ranges) {
  std::vector<char> all(static_cast<std::size_t>(n));
  for (RowRange r : ranges) std::fill(all.begin() + r.begin, all.begin() + r.end, char(1));
  return all;
}

HMatrix matrix(int m0, int M, double eps = 1e-5) {
  return {bem::Laplace(surfaces::sphere(m0, M).view()), {.compression = {.eps = eps}}};
}

i64 entries(const Share<double>& share) {
  i64 sum = 0;
  for (const Leaf* l : share.leaves) sum += l->entries();
  return sum;
}

constexpr Distribution whole_leaves[] = {Distribution::leaves, Distribution::grid};

}  // namespace

TEST("sets of rows are those of their ranges, in order, and can be counted") {
  NOTE(fresh::said());
  fresh::Random random(150);
  for (int turn = 0; turn < 200; turn++) {
    const i32 n = i32(random.whole(1, 60));
    std::vector<RowRange> ranges;
    for (i64 k = random.whole(0, 8); k > 0; k--) {
      const i32 begin = i32(random.whole(0, n));
      ranges.push_back({begin, i32(random.whole(begin, n))});
    }
    const i32 begin = i32(random.whole(0, n)), end = i32(random.whole(begin, n));
    std::vector<char> expected = marked(n, ranges);
    for (bool less : {false, true}) {
      RowSet set = RowSet::of(n, ranges);
      if (less) {
        set = set.without({begin, end});
        std::fill(expected.begin() + begin, expected.begin() + end, char(0));
      }
      CHECK(marked(n, set.ranges()) == expected);
      CHECK(set.size() == std::count(expected.begin(), expected.end(), 1));
      i32 number = 0, last = -1;
      for (RowRange r : set.ranges()) {
        CHECK(r.begin > last);
        last = r.end;
        for (i32 row = r.begin; row < r.end; row++) CHECK(set.number(row) == number++);
      }
    }
  }
}

TEST("by leaves and in a grid each leaf is one rank's, and ranks read about equally many values") {
  const HMatrix H = matrix(9, 16);
  for (Distribution how : whole_leaves)
    for (int ranks : {1, 2, 3, 4, 6, 12}) {
      NOTE("ranks = ", ranks, how == Distribution::grid ? " in a grid" : "");
      const Partition p = balance(H, ranks);
      std::set<const Leaf*> seen;
      i64 count = 0;
      for (int r = 0; r < ranks; r++) {
        const auto share = share_of(H, p, how, r);
        seen.insert(share.leaves.begin(), share.leaves.end());
        count += i64(share.leaves.size());
        CHECK_NEAR(double(entries(share)) * ranks / double(H.statistics().stored_values), 1.0, 0.03);
        for (const Leaf* l : share.leaves)
          for (auto [set, range] : {std::pair(&share.rows, l->block.rows), {&share.columns, l->block.columns}})
            CHECK(set->number(range.end - 1) - set->number(range.begin) == range.size() - 1);
      }
      CHECK(count == i64(H.leaves().size()));
      CHECK(i64(seen.size()) == count);
    }
}

TEST("every row of every leaf has an owner, who is the rank that has the leaf in its share") {
  const HMatrix H = matrix(7, 12);
  for (Distribution how : {Distribution::rows, Distribution::leaves, Distribution::grid})
    for (int ranks : {1, 3, 4}) {
      NOTE("ranks = ", ranks, ", distribution ", int(how));
      const Partition p = balance(H, ranks);
      std::map<const Leaf*, std::vector<RowRange>> owned;
      for (const auto& [leaf, rows, rank] : owned_rows(H, p, how)) {
        owned[leaf].push_back(rows);
        const auto share = share_of(H, p, how, rank);
        CHECK(std::count(share.leaves.begin(), share.leaves.end(), leaf) == 1);
        if (how != Distribution::rows) continue;
        CHECK(rows.begin >= p.first_row(rank));
        CHECK(rows.end <= p.first_row(rank + 1));
      }
      CHECK(owned.size() == H.leaves().size());
      for (auto& [leaf, parts] : owned) {
        std::sort(parts.begin(), parts.end(), [](RowRange a, RowRange b) { return a.begin < b.begin; });
        i32 next = leaf->block.rows.begin;
        for (RowRange part : parts) {
          CHECK(part.begin == next);
          CHECK(part.size() > 0);
          next = part.end;
        }
        CHECK(next == leaf->block.rows.end);
        if (how != Distribution::rows) CHECK(parts.size() == 1);
      }
    }
}

TEST("ranks of a grid need fewer rows of x than those of a row of ranks") {
  const HMatrix H = matrix(9, 16);
  const Partition p = balance(H, 16);
  i64 leaves = 0, grid = 0;
  for (int r = 0; r < 16; r++) {
    leaves += share_of(H, p, Distribution::leaves, r).columns.size();
    grid += share_of(H, p, Distribution::grid, r).columns.size();
  }
  CHECK(leaves == 16 * H.size());
  CHECK(double(grid) < 0.6 * double(leaves));
  CHECK(ranks_of_a_row(Distribution::grid, 16) == 4);
  CHECK(ranks_of_a_row(Distribution::grid, 12) == 3);
  CHECK(ranks_of_a_row(Distribution::grid, 7) == 1);
  CHECK(ranks_of_a_row(Distribution::leaves, 16) == 1);
}

TEST("tables of all ranks hold each stored value once, for threads and for GPUs") {
  const HMatrix H = matrix(7, 12);
  for (Distribution how : whole_leaves)
    for (int ranks : {2, 6}) {
      const Partition p = balance(H, ranks);
      i64 by_threads = 0, by_panels = 0;
      for (int r = 0; r < ranks; r++) {
        const RowRange own{i32(p.first_row(r)), i32(p.first_row(r + 1))};
        const auto share = share_of(H, p, how, r);
        const RowSet others = share.rows.without(own);
        const TermTable<double> v(share, own);
        const Terms<double> terms(share);
        by_threads += v.values;
        by_panels += TermPanels<double>(terms, {share.columns.number(own.begin), own.size()}, own).values;
        for (const RowSet& rows : {RowSet(own), others}) {
          by_threads += StripTable<double>(H.tree(), share, v, rows).values;
          by_panels += StripPanels<double>(H.tree(), terms, rows, 0).values;
        }
      }
      CHECK(by_threads == H.statistics().stored_values);
      CHECK(by_panels == H.statistics().stored_values);
    }
}

TEST("a distribution has a name of three") {
  CHECK(distribution("grid") == Distribution::grid);
  CHECK_THROWS(distribution("columns"), Error, "distribution is rows, leaves or grid, not 'columns'");
}
