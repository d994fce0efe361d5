#include "sordino/trsv/paper_layout.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino::trsv::paper {
namespace {

std::vector<i32> cut_columns(const Supernodes& nodes, i32 most) {
  std::vector<i32> column{0};
  for (i32 s = 0; s < nodes.count(); s++)
    for (i32 left = nodes.width(s); left > 0; left -= most) column.push_back(column.back() + std::min(left, most));
  return column;
}

/// Appends the blocks of a block column, row by row.
class Rows {
 public:
  explicit Rows(Pattern& pattern) : p_(pattern), block_of_(std::size_t(pattern.n())) {
    for (i32 K = 0; K < p_.count(); K++)
      std::fill(block_of_.begin() + p_.column[std::size_t(K)], block_of_.begin() + p_.column[std::size_t(K) + 1], K);
  }
  void add(i32 row) {
    const i32 I = block_of_[std::size_t(row)];
    if (i64(p_.row.size()) == p_.begin.back() || p_.row.back() != I) {
      p_.row.push_back(I);
      p_.height.push_back(0);
      p_.row_begin.push_back(p_.row_begin.back());
    }
    p_.height.back()++;
    p_.row_begin.back()++;
    p_.rows.push_back(row - p_.column[std::size_t(I)]);
  }

 private:
  Pattern& p_;
  std::vector<i32> block_of_;  // [n]
};

/// Trees over the ranks that `in` names, the root first and the others in the order in which they follow it around the grid.
class TreeMaker {
 public:
  TreeMaker(Trees& trees, int ranks) : trees_(trees), in_(std::size_t(ranks), 0) { trees_.begin.assign(1, 0); }
  void take(i32 rank) { in_[std::size_t(rank)] = 1; }
  void make(i32 root) {
    in_[std::size_t(root)] = 1;
    const i32 ranks = i32(in_.size());
    for (i32 k = 0; k < ranks; k++)
      if (std::exchange(in_[std::size_t((root + k) % ranks)], char(0))) trees_.ranks.push_back((root + k) % ranks);
    trees_.begin.push_back(i64(trees_.ranks.size()));
  }

 private:
  Trees& trees_;
  std::vector<char> in_;
};

void plant(const Pattern& p, Layout& layout) {
  const Grid& g = layout.grid;
  TreeMaker broadcasts(layout.broadcasts, g.ranks());
  std::vector<std::vector<i32>> of_row(std::size_t(p.count()));  // ranks with a block in it
  for (i32 K = 0; K < p.count(); K++) {
    for (i64 e = p.begin[std::size_t(K)]; e < p.begin[std::size_t(K) + 1]; e++) {
      const i32 I = p.row[std::size_t(e)], rank = g.owner(I, K);
      broadcasts.take(rank);
      auto& seen = of_row[std::size_t(I)];
      if (std::find(seen.begin(), seen.end(), rank) == seen.end()) seen.push_back(rank);
    }
    broadcasts.make(g.owner(K, K));
  }
  TreeMaker reductions(layout.reductions, g.ranks());
  for (i32 I = 0; I < p.count(); I++) {
    for (i32 rank : of_row[std::size_t(I)]) reductions.take(rank);
    reductions.make(g.owner(I, I));
  }
}

void deal(const Pattern& p, Layout& layout) {
  for (Part& part : layout.parts) {
    part.begin.assign(1, 0);
    part.fmod.assign(std::size_t(p.count()), 0);
    part.column_mask.assign(std::size_t(p.count()), 1);
    part.row_mask.assign(std::size_t(p.count()) * 2, 1);
  }
  for (i32 K = 0; K < p.count(); K++) {
    for (i64 e = p.begin[std::size_t(K)] + 1; e < p.begin[std::size_t(K) + 1]; e++) {
      const i32 I = p.row[std::size_t(e)];
      Part& part = layout.parts[std::size_t(layout.grid.owner(I, K))];
      part.blocks.push_back(e);
      part.fmod[std::size_t(I)]++;
    }
    for (i32 place = 0; place < layout.broadcasts.size(K); place++) {
      Part& part = layout.parts[std::size_t(layout.broadcasts.at(K, place))];
      part.columns.push_back(K);
      part.begin.push_back(i64(part.blocks.size()));
      if (place > 0) part.column_mask[std::size_t(K)] = 0;
    }
    for (i32 place = 1; place < layout.reductions.size(K); place++) {  // 004-E5: child c of its parent has slot 2 I + c there
      Part& parent = layout.parts[std::size_t(layout.reductions.at(K, (place - 1) / 2))];
      parent.fmod[std::size_t(K)]++;
      parent.row_mask[std::size_t(2 * K + (place - 1) % 2)] = 0;
    }
  }
}

}  // namespace

i64 Pattern::values() const {
  i64 sum = 0;
  for (i32 K = 0; K < count(); K++)
    for (i64 e = begin[std::size_t(K)]; e < begin[std::size_t(K) + 1]; e++) sum += i64(width(K)) * height[std::size_t(e)];
  return sum;
}

Pattern pattern_of(const Supernodes& nodes, i32 most_columns) {
  if (most_columns < 1)
    bad_argument("a block column has one column or more, and " + std::to_string(most_columns) + " was asked for");
  Pattern p;
  p.column = cut_columns(nodes, most_columns);
  p.begin.assign(1, 0);
  p.row_begin.assign(1, 0);
  Rows rows(p);
  for (i32 s = 0, K = 0; s < nodes.count(); s++)
    for (; K < p.count() && p.column[std::size_t(K)] < nodes.column[std::size_t(s) + 1]; K++) {
      for (i32 row = p.column[std::size_t(K)]; row < nodes.column[std::size_t(s) + 1]; row++) rows.add(row);
      for (i64 e = nodes.row_begin[std::size_t(s)]; e < nodes.row_begin[std::size_t(s) + 1]; e++)
        rows.add(nodes.rows[std::size_t(e)]);
      p.begin.push_back(i64(p.row.size()));
    }
  return p;
}

Pattern transposed(const Pattern& pattern, std::vector<i64>* from) {
  const i32 count = pattern.count();
  std::vector<std::vector<i64>> of_row(std::size_t(count), std::vector<i64>{});  // blocks of a block row, the diagonal's first
  std::vector<i32> column_of(std::size_t(pattern.blocks()));
  for (i32 K = count; K-- > 0;)
    for (i64 e = pattern.begin[std::size_t(K)]; e < pattern.begin[std::size_t(K) + 1]; e++) {
      column_of[std::size_t(e)] = K;
      of_row[std::size_t(pattern.row[std::size_t(e)])].push_back(e);
    }
  Pattern p;
  p.column.push_back(0);
  p.begin.push_back(0);
  p.row_begin.push_back(0);
  for (i32 I = count; I-- > 0;) {
    p.column.push_back(p.column.back() + pattern.width(I));
    for (i64 e : of_row[std::size_t(I)]) {
      const i32 K = column_of[std::size_t(e)];
      p.row.push_back(count - 1 - K);
      p.height.push_back(pattern.width(K));
      for (i32 k = 0; k < pattern.width(K); k++) p.rows.push_back(k);
      p.row_begin.push_back(i64(p.rows.size()));
      if (from) from->push_back(e);
    }
    p.begin.push_back(i64(p.row.size()));
  }
  return p;
}

i32 Trees::place(i32 t, i32 rank) const {
  for (i32 k = 0; k < size(t); k++)
    if (at(t, k) == rank) return k;
  return -1;
}

i32 Trees::parent(i32 t, i32 rank) const {
  const i32 k = place(t, rank);
  return k > 0 ? at(t, (k - 1) / 2) : -1;
}

std::array<i32, 2> Trees::children(i32 t, i32 rank) const {
  const i32 k = place(t, rank);
  if (k < 0) return {-1, -1};
  return {at(t, 2 * k + 1), at(t, 2 * k + 2)};
}

Layout lay_out(const Pattern& pattern, const Grid& grid) {
  if (grid.rows < 1 || grid.columns < 1)
    bad_argument("a grid of ranks has one row and one column or more, and " + std::to_string(grid.rows) + " x " +
                 std::to_string(grid.columns) + " was asked for");
  Layout layout{.grid = grid, .broadcasts = {}, .reductions = {}, .parts = std::vector<Part>(std::size_t(grid.ranks()))};
  plant(pattern, layout);
  deal(pattern, layout);
  return layout;
}

Traffic traffic_of(const Pattern& pattern, const Layout& layout, i64 value_bytes) {
  Traffic t;
  for (i32 K = 0; K < pattern.count(); K++) {
    const i64 x = layout.broadcasts.size(K) - 1, sums = layout.reductions.size(K) - 1, bytes = pattern.width(K) * value_bytes;
    t.broadcasts += x, t.broadcast_bytes += x * bytes;
    t.reductions += sums, t.reduction_bytes += sums * bytes;
  }
  return t;
}

std::vector<i32> shares_of(const std::vector<char>& mask, int threads) {
  const i64 expected = std::count(mask.begin(), mask.end(), 0);
  std::vector<i32> shares{0};
  i64 passed = 0;
  for (i32 k = 0; k < i32(mask.size()) && i32(shares.size()) < threads; k++) {
    if (mask[std::size_t(k)]) continue;
    while (i32(shares.size()) < threads && passed >= expected * i64(shares.size()) / threads) shares.push_back(k);
    passed++;
  }
  while (i32(shares.size()) <= threads) shares.push_back(i32(mask.size()));
  return shares;
}

}  // namespace sordino::trsv::paper
