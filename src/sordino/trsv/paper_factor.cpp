#include "sordino/trsv/paper_factor.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino::trsv::paper {

template <class V>
Factor<V>::Factor(const TriangleView<V>& L, const Supernodes& nodes, i32 most_columns)
    : pattern_(pattern_of(nodes, most_columns)), order_(nodes.order), block_of_(order_.size()), unit_(L.unit) {
  validate(L);
  const LowerPattern& p = L.pattern;
  if (nodes.n != p.n)
    bad_argument("the supernodes are of " + std::to_string(nodes.n) + " rows, and the triangle has " + std::to_string(p.n));
  make_values();
  std::vector<i32> place_of(order_.size());
  for (std::size_t k = 0; k < order_.size(); k++) place_of[std::size_t(order_[k])] = i32(k);
  for (i64 j = 0; j < p.n; j++) {
    const i32 column = place_of[std::size_t(j)], K = block_of_[std::size_t(column)];
    for (i64 k = p.begin[j]; k < p.begin[j + 1]; k++) {
      const Place to = place(K, place_of[std::size_t(p.rows[k])]);
      if (to.block < 0)
        bad_argument("the supernodes have no place for the entry at (" + std::to_string(p.rows[k]) + ", " + std::to_string(j) +
                     ") of the triangle");
      const i64 height = pattern_.height[std::size_t(to.block)], within = column - pattern_.column[std::size_t(K)];
      values_.data()[begin_[std::size_t(to.block)] + within * height + to.row] = L.values[k];
    }
  }
}

template <class V>
void Factor<V>::make_values() {
  i64 values = 0;
  for (i32 K = 0; K < pattern_.count(); K++) {
    for (i32 k = pattern_.column[std::size_t(K)]; k < pattern_.column[std::size_t(K) + 1]; k++) block_of_[std::size_t(k)] = K;
    for (i64 e = pattern_.begin[std::size_t(K)]; e < pattern_.begin[std::size_t(K) + 1]; e++) {
      begin_.push_back(values);
      values += i64(pattern_.width(K)) * pattern_.height[std::size_t(e)];
    }
  }
  values_ = LargeArray<V>(std::size_t(values));
  std::fill_n(values_.data(), values, V{});
}

template <class V>
Factor<V> Factor<V>::transposed() const {
  Factor t;
  t.unit_ = unit_;
  t.order_.assign(order_.rbegin(), order_.rend());
  t.block_of_.resize(order_.size());
  std::vector<i64> from;
  t.pattern_ = paper::transposed(pattern_, &from);
  t.make_values();
  const Pattern& p = t.pattern_;
  for (i32 I = 0; I < p.count(); I++)
    for (i64 at = p.begin[std::size_t(I)]; at < p.begin[std::size_t(I) + 1]; at++) {
      const i64 e = from[std::size_t(at)];
      const i32 width = p.height[std::size_t(at)], height = pattern_.height[std::size_t(e)];
      V* const to = t.values_.data() + t.begin_[std::size_t(at)];
      for (i32 j = 0; j < width; j++)
        for (i32 i = 0; i < height; i++) {
          const i32 row = pattern_.rows[std::size_t(pattern_.row_begin[std::size_t(e)] + i)];
          to[i64(p.width(I) - 1 - row) * width + width - 1 - j] = values(e)[i64(j) * height + i];
        }
    }
  return t;
}

template <class V>
typename Factor<V>::Place Factor<V>::place(i32 K, i32 row) const {
  const i32 I = block_of_[std::size_t(row)];
  const auto blocks = pattern_.row.begin();
  const auto end = blocks + pattern_.begin[std::size_t(K) + 1];
  const auto block = std::lower_bound(blocks + pattern_.begin[std::size_t(K)], end, I);
  if (block == end || *block != I) return {};
  const i64 e = block - blocks;
  const auto rows = pattern_.rows.begin() + pattern_.row_begin[std::size_t(e)],
             last = pattern_.rows.begin() + pattern_.row_begin[std::size_t(e) + 1];
  const i32 within = row - pattern_.column[std::size_t(I)];
  const auto found = std::lower_bound(rows, last, within);
  if (found == last || *found != within) return {};
  return {e, found - rows};
}

template class Factor<float>;
template class Factor<double>;
template class Factor<Number>;

}  // namespace sordino::trsv::paper
