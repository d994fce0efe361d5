#include "sordino/api/triangular_paper.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino {

using namespace trsv;

paper::Grid paper_grid(const TriangularOptions& options) {
  if (options.layout_rows == 0) return {std::max(options.ranks, 1), 1};
  return {options.layout_rows, options.layout_columns};
}

template <class V>
PaperTriangle<V>::PaperTriangle(const TriangleView<V>& L, const TriangularOptions& options)
    : nodes_(find_supernodes(L.pattern)),
      width_(options.width),
      grid_(paper_grid(options)),
      forward_{paper::Factor<V>(L, nodes_, width_), {}} {
  forward_.layout = paper::lay_out(forward_.factor.pattern(), grid_);
}

template <class V>
void PaperTriangle<V>::update(const TriangleView<V>& L) {
  paper::Factor<V> changed(L, nodes_, width_);
  forward_.factor = std::move(changed);
  if (backward_) backward_->factor = forward_.factor.transposed();
}

template <class V>
const paper::Factor<V>& PaperTriangle<V>::of(Direction direction) {
  if (direction == Direction::forward) return forward_.factor;
  if (!backward_) {
    backward_.emplace(Way{forward_.factor.transposed(), {}});
    backward_->layout = paper::lay_out(backward_->factor.pattern(), grid_);
  }
  return backward_->factor;
}

template <class V>
const paper::Layout& PaperTriangle<V>::layout(Direction direction) {
  of(direction);
  return direction == Direction::forward ? forward_.layout : backward_->layout;
}

template <class V>
void PaperTriangle<V>::describe(TriangularStatistics& t) const {
  const paper::Pattern& p = forward_.factor.pattern();
  t.n = p.n();
  t.stored_entries = p.values();
  t.stored_bytes = forward_.factor.bytes() + (backward_ ? backward_->factor.bytes() : 0);
  t.memory_bytes = t.stored_bytes + i64(sizeof(i32)) * (i64(p.rows.size()) + 2 * p.n());
  t.blocks = p.blocks();
  t.ranks = grid_.ranks();
  std::vector<i64> depth(std::size_t(p.count()), 1);
  for (i32 K = 0; K < p.count(); K++) {
    t.longest_chain = std::max(t.longest_chain, depth[std::size_t(K)]);
    for (i64 e = p.begin[std::size_t(K)] + 1; e < p.begin[std::size_t(K) + 1]; e++) {
      i64& below = depth[std::size_t(p.row[std::size_t(e)])];
      below = std::max(below, depth[std::size_t(K)] + 1);
    }
  }
}

template class PaperTriangle<float>;
template class PaperTriangle<double>;
template class PaperTriangle<Number>;

}  // namespace sordino
