#include "sordino/hmatrix/strips.hpp"

#include <limits>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {

std::vector<RowRange> strips_of(const ClusterTree& tree, const RowSet& rows) {
  std::vector<i32> begins;
  for (const Cluster& c : tree.clusters)
    if (c.is_leaf()) begins.push_back(c.begin);
  std::sort(begins.begin(), begins.end());
  std::vector<RowRange> strips;
  for (RowRange r : rows.ranges()) {
    strips.push_back(r);
    for (auto cut = std::upper_bound(begins.begin(), begins.end(), r.begin); cut != begins.end() && *cut < r.end; ++cut) {
      strips.back().end = *cut;
      strips.push_back({*cut, r.end});
    }
  }
  return strips;
}

RowRange strips_met(RowRange rows, const std::vector<RowRange>& strips) {
  auto ends_before = [](RowRange strip, i32 row) { return strip.end <= row; };
  auto begins_before = [](RowRange strip, i32 row) { return strip.begin < row; };
  const auto first = std::lower_bound(strips.begin(), strips.end(), rows.begin, ends_before);
  const auto end = std::lower_bound(first, strips.end(), rows.end, begins_before);
  return {i32(first - strips.begin()), i32(end - strips.begin())};
}

template <class V>
TermTable<V>::TermTable(const Share<V>& share, RowRange own_columns) : first(share.leaves.size()) {
  i64 terms = 0;
  for (bool here : {true, false}) {
    for (std::size_t l = 0; l < share.leaves.size(); l++) {
      const LeafOf<V>& leaf = *share.leaves[l];
      const RowRange columns = leaf.block.columns;
      const bool within = columns.begin >= own_columns.begin && columns.end <= own_columns.end;
      if (leaf.is_dense() || within != here) continue;
      first[l] = i32(terms);
      terms += leaf.rank;
      const i32 number = share.columns.number(columns.begin);
      for (i32 k = 0; k < leaf.rank; k++) pieces.push_back({leaf.v + i64(k) * columns.size(), number, columns.size()});
      values += i64(leaf.rank) * columns.size();
    }
    if (here) own = i32(terms);
  }
  require_countable(share, terms);
}

template <class V>
StripTable<V>::StripTable(const ClusterTree& tree, const Share<V>& share, const TermTable<V>& terms, const RowSet& rows)
    : strip_of(std::size_t(rows.size())) {
  const std::vector<RowRange> ranges = strips_of(tree, rows);
  strips.resize(ranges.size() + 1, {rows.size(), 0});
  for (std::size_t s = 0; s < ranges.size(); s++) {
    strips[s].row = rows.number(ranges[s].begin);
    std::fill_n(strip_of.begin() + strips[s].row, ranges[s].size(), i32(s));
  }
  std::vector<i64> next(ranges.size() + 1);  // at first how many pieces there are
  for (const LeafOf<V>* leaf : share.leaves) each_strip(leaf->block.rows, ranges, [&](std::size_t s) { next[s]++; });
  i64 all = 0;
  for (std::size_t s = 0; s < next.size(); s++) {
    if (all > std::numeric_limits<u32>::max())
      throw Error(Errc::unsupported, "a rank has more than 2^32 pieces: use more ranks");
    strips[s].pieces = u32(all);
    all += std::exchange(next[s], all);
  }
  pieces.resize(std::size_t(strips.back().pieces));
  for (std::size_t l = 0; l < share.leaves.size(); l++) {
    const LeafOf<V>& leaf = *share.leaves[l];
    const i32 length = leaf.is_dense() ? leaf.block.columns.size() : leaf.rank;
    const i32 from = leaf.is_dense() ? share.columns.number(leaf.block.columns.begin) : share.columns.size() + terms.first[l];
    each_strip(leaf.block.rows, ranges, [&](std::size_t s) {
      pieces[std::size_t(next[s]++)] = {leaf.u + i64(ranges[s].begin - leaf.block.rows.begin) * length, from, length};
      values += i64(ranges[s].size()) * length;
      operands += length;
    });
  }
  operands = std::min(operands, share.columns.size() + i64(terms.pieces.size()));
}

template struct TermTable<double>;
template struct TermTable<Number>;
template struct StripTable<double>;
template struct StripTable<Number>;

}  // namespace sordino::hmatrix
