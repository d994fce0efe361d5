#include "sordino/hmatrix/strips.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {
namespace {

bool within(RowRange inner, RowRange outer) { return inner.begin >= outer.begin && inner.end <= outer.end; }
bool meet(RowRange a, RowRange b) { return std::max(a.begin, b.begin) < std::min(a.end, b.end); }

}  // namespace

std::vector<i32> cuts_of(const ClusterTree& tree, RowRange rows) {
  std::vector<i32> cuts{rows.begin, rows.end};
  for (const Cluster& c : tree.clusters)
    if (c.is_leaf() && c.begin > rows.begin && c.begin < rows.end) cuts.push_back(c.begin);
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

template <class V>
std::vector<const LeafOf<V>*> leaves_of(const HMatrixOf<V>& matrix, RowRange rows) {
  std::vector<const LeafOf<V>*> leaves;
  for (const LeafOf<V>& l : matrix.leaves())
    if (meet(l.block.rows, rows) && l.rank != 0) leaves.push_back(&l);
  auto left = [](const LeafOf<V>* a, const LeafOf<V>* b) { return a->block.columns.begin < b->block.columns.begin; };
  std::stable_sort(leaves.begin(), leaves.end(), left);
  return leaves;
}

template <class V>
StripsOf<V>::StripsOf(const HMatrixOf<V>& matrix, RowRange range) : rows(range), strip_of(std::size_t(range.size())) {
  const std::vector<const LeafOf<V>*> leaves = leaves_of(matrix, rows);
  std::vector<i32> term(leaves.size());  // each leaf's first one
  i64 terms = 0;
  for (bool here : {true, false}) {
    for (std::size_t l = 0; l < leaves.size(); l++) {
      const LeafOf<V>& leaf = *leaves[l];
      const RowRange columns = leaf.block.columns;
      if (leaf.is_dense() || within(columns, rows) != here) continue;
      term[l] = i32(terms);
      terms += leaf.rank;
      for (i32 k = 0; k < leaf.rank; k++)
        projections.push_back({leaf.v + i64(k) * columns.size(), columns.begin, columns.size()});
      projected_values += i64(leaf.rank) * columns.size();
    }
    if (here) own = i32(terms);
  }
  if (words_of<V> * (matrix.size() + terms) > std::numeric_limits<i32>::max())
    throw Error(Errc::unsupported, "a rank has more than 2^31 terms, or 2^30 complex ones: use more ranks");

  const std::vector<i32> first = cuts_of(matrix.tree(), rows);
  strips.resize(first.size(), {0, 0});
  for (std::size_t s = 0; s < first.size(); s++) strips[s].row = first[s];
  for (std::size_t s = 0; s + 1 < first.size(); s++)
    std::fill(strip_of.begin() + (first[s] - rows.begin), strip_of.begin() + (first[s + 1] - rows.begin), i32(s));
  for (const LeafOf<V>* leaf : leaves) each_strip(leaf->block.rows, first, [&](std::size_t s) { strips[s + 1].pieces++; });
  i64 all = 0;
  for (const Strip& s : strips) all += s.pieces;
  if (all > std::numeric_limits<u32>::max()) throw Error(Errc::unsupported, "a rank has more than 2^32 pieces: use more ranks");
  for (std::size_t s = 1; s < strips.size(); s++) strips[s].pieces += strips[s - 1].pieces;
  pieces.resize(strips.back().pieces);
  std::vector<u32> next(strips.size());
  for (std::size_t s = 0; s < strips.size(); s++) next[s] = strips[s].pieces;
  for (std::size_t l = 0; l < leaves.size(); l++) {
    const LeafOf<V>& leaf = *leaves[l];
    const i32 length = leaf.is_dense() ? leaf.block.columns.size() : leaf.rank;
    const i32 from = leaf.is_dense() ? leaf.block.columns.begin : i32(matrix.size()) + term[l];
    each_strip(leaf.block.rows, first, [&](std::size_t s) {
      pieces[next[s]++] = {leaf.u + i64(first[s] - leaf.block.rows.begin) * length, from, length};
      strip_values += i64(first[s + 1] - first[s]) * length;
    });
  }
}

template <class V>
std::vector<i64> costs_before(const HMatrixOf<V>& matrix) {
  std::vector<i64> cost(std::size_t(matrix.size()) + 1);
  auto add = [&](i32 begin, i32 end, i64 values) {  // as differences, at first
    cost[std::size_t(begin) + 1] += values;
    if (end < matrix.size()) cost[std::size_t(end) + 1] -= values;
  };
  for (const LeafOf<V>& l : matrix.leaves()) {
    const i64 rows = l.block.rows.size(), a_row = l.entries() / rows;
    add(l.block.rows.begin, l.block.rows.end, a_row);
    add(l.block.rows.begin, l.block.rows.begin + 1, l.entries() - rows * a_row);
  }
  std::partial_sum(cost.begin(), cost.end(), cost.begin());
  std::partial_sum(cost.begin(), cost.end(), cost.begin());
  return cost;
}

template std::vector<const LeafOf<double>*> leaves_of(const HMatrixOf<double>&, RowRange);
template std::vector<const LeafOf<Number>*> leaves_of(const HMatrixOf<Number>&, RowRange);
template struct StripsOf<double>;
template struct StripsOf<Number>;
template std::vector<i64> costs_before(const HMatrixOf<double>&);
template std::vector<i64> costs_before(const HMatrixOf<Number>&);

}  // namespace sordino::hmatrix
