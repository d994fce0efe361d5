// The transpose of an H-matrix, as an H-matrix: rows and columns of its blocks change places, and so do U and V.
#include <algorithm>
#include <tuple>

#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/hmatrix.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 least = 64;  // leaves that are worth a thread

/// from [rows][columns], row by row of the transpose.
template <class V>
void transpose(const V* from, i32 rows, i32 columns, V* to) {
  for (i32 j = 0; j < columns; j++)
    for (i32 i = 0; i < rows; i++) *to++ = from[i64(i) * columns + j];
}

}  // namespace

template <class V>
HMatrixOf<V>::HMatrixOf(const HMatrixOf& of, Transposed)
    : tree_(of.tree_), leaves_(of.leaves_.size()), statistics_(of.statistics_) {
  of.require_whole("a transpose");
  const auto all = i64(leaves_.size());
  std::vector<const LeafOf<V>*> sources;
  for (const LeafOf<V>& l : of.leaves_) sources.push_back(&l);
  auto place = [](const LeafOf<V>* l) { return std::pair(l->block.columns.begin, l->block.rows.begin); };
  std::sort(sources.begin(), sources.end(), [&](auto* a, auto* b) { return place(a) < place(b); });
  std::vector<V*> values;
  stores_.resize(1);
  for (const LeafOf<V>* l : sources) values.push_back(stores_[0].take(l->entries()));
  auto turn = [&](i64 begin, i64 end) {
    for (auto k = std::size_t(begin); k < std::size_t(end); k++) {
      const LeafOf<V>& from = *sources[k];
      const Block block{from.block.columns, from.block.rows, from.block.admissible};
      const i32 height = block.rows.size(), width = block.columns.size();
      V* const u = values[k];
      V* const v = from.is_dense() ? nullptr : u + i64(height) * from.rank;
      transpose(from.is_dense() ? from.u : from.v, from.is_dense() ? width : from.rank, height, u);
      if (v) transpose(from.u, width, from.rank, v);
      leaves_[k] = {block, from.rank, u, v};
    }
  };
  for_parts(0, all, turn, least);
}

template HMatrixOf<double>::HMatrixOf(const HMatrixOf&, Transposed);
template HMatrixOf<Number>::HMatrixOf(const HMatrixOf&, Transposed);

}  // namespace sordino::hmatrix
