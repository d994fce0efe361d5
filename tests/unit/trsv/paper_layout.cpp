// Layouts of paper 004 against what follows from their definitions, block by block.
#include "sordino/trsv/paper_layout.hpp"

#include <map>
#include <set>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using namespace sordino::trsv::paper;

const std::vector<Grid> grids{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 1}, {1, 5}, {4, 3}};

/// Blocks from the pattern's single rows: (I, K) -> rows that have an entry, of a pattern of supernodes that are cut.
std::map<std::pair<i32, i32>, std::set<i32>> blocks_by_rows(const Supernodes& s, const std::vector<i32>& column) {
  auto block_of = [&](i32 k) { return i32(std::upper_bound(column.begin(), column.end(), k) - column.begin()) - 1; };
  std::map<std::pair<i32, i32>, std::set<i32>> blocks;
  for (i32 n = 0; n < s.count(); n++)
    for (i32 k = s.column[std::size_t(n)]; k < s.column[std::size_t(n) + 1]; k++) {
      const i32 K = block_of(k);
      auto add = [&](i32 row) { blocks[{block_of(row), K}].insert(row - column[std::size_t(block_of(row))]); };
      for (i32 row = column[std::size_t(K)]; row < s.column[std::size_t(n) + 1]; row++) add(row);
      for (i64 e = s.row_begin[std::size_t(n)]; e < s.row_begin[std::size_t(n) + 1]; e++) add(s.rows[std::size_t(e)]);
    }
  return blocks;
}

/// Ranks that own a block of the row or column.
std::set<i32> owners(const Pattern& p, const Grid& g, i32 index, bool of_row) {
  std::set<i32> ranks;
  for (i32 K = 0; K < p.count(); K++)
    for (i64 e = p.begin[std::size_t(K)]; e < p.begin[std::size_t(K) + 1]; e++)
      if ((of_row ? p.row[std::size_t(e)] : K) == index) ranks.insert(g.owner(p.row[std::size_t(e)], K));
  return ranks;
}

void check_tree(const Trees& trees, i32 t, i32 root, const std::set<i32>& members) {
  CHECK(trees.at(t, 0) == root);
  std::set<i32> reached{root};
  std::vector<i32> open{root};
  while (!open.empty()) {
    const i32 rank = open.back();
    open.pop_back();
    for (i32 child : trees.children(t, rank)) {
      if (child < 0) continue;
      CHECK(trees.parent(t, child) == rank);
      CHECK(reached.insert(child).second);
      open.push_back(child);
    }
  }
  CHECK(reached == members);
  CHECK(trees.parent(t, root) == -1);
}

void check_counts(const Pattern& p, const Layout& layout) {
  Traffic counted;
  for (i32 rank = 0; rank < layout.grid.ranks(); rank++) {
    const Part& part = layout.parts[std::size_t(rank)];
    std::set<i64> mine;
    std::set<i32> columns;
    for (i32 K = 0; K < p.count(); K++)
      for (i64 e = p.begin[std::size_t(K)]; e < p.begin[std::size_t(K) + 1]; e++)
        if (layout.grid.owner(p.row[std::size_t(e)], K) == rank) {
          columns.insert(K);
          if (p.row[std::size_t(e)] != K) mine.insert(e);
        }
    CHECK(std::vector<i32>(columns.begin(), columns.end()) == part.columns);
    CHECK(std::vector<i64>(mine.begin(), mine.end()) == part.blocks);  // column by column is in their order
    for (i32 I = 0; I < p.count(); I++) {
      i32 local = 0, children = 0;
      for (i64 e : mine) local += p.row[std::size_t(e)] == I;
      for (i32 child : layout.reductions.children(I, rank)) children += child >= 0;
      CHECK(part.fmod[std::size_t(I)] == local + children);
      CHECK(2 - part.row_mask[std::size_t(2 * I)] - part.row_mask[std::size_t(2 * I + 1)] == children);
      const bool receives = layout.broadcasts.parent(I, rank) >= 0;
      CHECK((part.column_mask[std::size_t(I)] == 0) == receives);
      counted.broadcasts += receives, counted.broadcast_bytes += receives * 8 * p.width(I);
      counted.reductions += children, counted.reduction_bytes += children * 8 * p.width(I);
    }
  }
  const Traffic t = traffic_of(p, layout, 8);
  CHECK(t.broadcasts == counted.broadcasts);
  CHECK(t.reductions == counted.reductions);
  CHECK(t.broadcast_bytes == counted.broadcast_bytes);
  CHECK(t.reduction_bytes == counted.reduction_bytes);
}

}  // namespace

TEST("004: blocks are those of single entries, whatever the width at which supernodes are cut") {
  NOTE(fresh::said());
  fresh::Random random(41);
  for (const triangles::Columns& c : triangles::some(random, 10)) {
    const Supernodes nodes = find_supernodes(c.pattern());
    for (i32 most : {1, 3, 128}) {
      const Pattern p = pattern_of(nodes, most);
      NOTE("n = ", c.n, ", at most ", most, " columns");
      const auto wanted = blocks_by_rows(nodes, p.column);
      CHECK(p.n() == c.n);
      CHECK(p.blocks() == i64(wanted.size()));
      i64 values = 0;
      for (i32 K = 0; K < p.count(); K++) {
        CHECK(p.width(K) <= most);
        CHECK(p.row[std::size_t(p.begin[std::size_t(K)])] == K);
        for (i64 e = p.begin[std::size_t(K)]; e < p.begin[std::size_t(K) + 1]; e++) {
          const auto found = wanted.find({p.row[std::size_t(e)], K});
          REQUIRE(found != wanted.end());
          const std::vector<i32> rows(p.rows.begin() + p.row_begin[std::size_t(e)],
                                      p.rows.begin() + p.row_begin[std::size_t(e) + 1]);
          CHECK(rows == std::vector<i32>(found->second.begin(), found->second.end()));
          CHECK(p.height[std::size_t(e)] == i32(rows.size()));
          values += i64(rows.size()) * p.width(K);
        }
      }
      CHECK(p.values() == values);
    }
  }
}

TEST("004: trees reach those who own a block, once each, and fmod, masks and messages follow from them") {
  NOTE(fresh::said());
  fresh::Random random(42);
  for (const triangles::Columns& c : triangles::some(random, 6)) {
    const Pattern p = pattern_of(find_supernodes(c.pattern()), i32(random.whole(1, 12)));
    for (const Grid& g : grids) {
      NOTE("n = ", c.n, ", ", g.rows, " x ", g.columns);
      const Layout layout = lay_out(p, g);
      for (i32 K = 0; K < p.count(); K++) {
        check_tree(layout.broadcasts, K, g.owner(K, K), owners(p, g, K, false));
        check_tree(layout.reductions, K, g.owner(K, K), owners(p, g, K, true));
      }
      check_counts(p, layout);
      const Traffic t = traffic_of(p, layout, 8);
      if (g.rows == 1) CHECK(t.broadcasts == 0);
      if (g.columns == 1) CHECK(t.reductions == 0);
    }
  }
}

TEST("004: a dense triangle of four block columns on 2 x 2 ranks, counted by hand") {
  const Pattern p = pattern_of(find_supernodes(triangles::columns_of({{1, 2, 3}, {2, 3}, {3}, {}}).pattern()), 1);
  const Layout layout = lay_out(p, {2, 2});
  // Columns 0 to 2 have blocks on both ranks of their process column, column 3 only its own; rows likewise, row 0 only one.
  const Traffic t = traffic_of(p, layout, 8);
  CHECK(t.broadcasts == 3);
  CHECK(t.reductions == 3);
  CHECK(t.broadcast_bytes == 24);
  // Rank 3 owns L(1, 1), L(3, 1), L(3, 3): row 1 awaits a sum of rank 2, row 3 its own block and rank 2's sum.
  CHECK(layout.parts[3].fmod == std::vector<i32>({0, 1, 0, 2}));
  CHECK(layout.parts[3].columns == std::vector<i32>({1, 3}));
  CHECK(layout.parts[2].fmod == std::vector<i32>({0, 1, 0, 2}));  // L(1, 0), L(3, 0), L(3, 2)
}

TEST("004: Fig. 2's mask of 17 with 10 messages gives five threads two each; any mask is shared evenly") {
  NOTE(fresh::said());
  auto messages = [](const std::vector<char>& mask, const std::vector<i32>& shares, std::size_t t) {
    return std::count(mask.begin() + shares[t], mask.begin() + shares[t + 1], 0);
  };
  const std::vector<char> figure{0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0};
  const std::vector<i32> shares = shares_of(figure, 5);
  CHECK(shares.size() == 6);
  for (std::size_t t = 0; t < 5; t++) CHECK(messages(figure, shares, t) == 2);
  fresh::Random random(43);
  for (int k = 0; k < 200; k++) {
    std::vector<char> mask;
    for (i64 left = random.whole(0, 40); left > 0; left--) mask.push_back(char(random.chance(0.5)));
    const int threads = int(random.whole(1, 9));
    const std::vector<i32> some = shares_of(mask, threads);
    REQUIRE(i64(some.size()) == threads + 1);
    CHECK(some.front() == 0);
    CHECK(some.back() == i32(mask.size()));
    const i64 least = std::count(mask.begin(), mask.end(), 0) / threads;
    for (std::size_t t = 0; t + 1 < some.size(); t++) {
      CHECK(messages(mask, some, t) >= least);
      CHECK(messages(mask, some, t) <= least + 1);
    }
  }
}

TEST("004: grids without ranks, and block columns without columns, are refused") {
  const Supernodes nodes = find_supernodes(triangles::grid(3, 3, 1).pattern());
  CHECK_THROWS((pattern_of(nodes, 0)), Error, "one column or more");
  CHECK_THROWS((lay_out(pattern_of(nodes), {0, 2})), Error, "0 x 2 was asked for");
}
