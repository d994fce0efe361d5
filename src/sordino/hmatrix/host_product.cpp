#include "sordino/hmatrix/host_product.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 least = 256;  // rows, terms or blocks that are worth a thread

/// sum[c] += value * from[c]
template <class V>
void add(V value, const V* from, V* sum, int columns) {
  for (int c = 0; c < columns; c++) sum[c] = sum[c] + value * from[c];
}

/// The piece's values times rows of z [.][columns].
template <class V>
void add_piece(const V* values, i32 length, const V* z, V* sum, int columns) {
  if (columns == 1) {
    *sum = *sum + times(values, length, [=](i32 j) { return z[j]; });
    return;
  }
  for (i32 j = 0; j < length; j++) add(values[j], z + i64(j) * columns, sum, columns);
}

}  // namespace

template <class V>
HostProductOf<V>::HostProductOf(const HMatrixOf<V>& matrix)
    : matrix_((matrix.require_whole("a product by threads of one process, or with the transpose,"), matrix)),
      share_(whole(matrix)),
      terms_(share_, {0, i32(matrix.size())}),
      strips_(matrix.tree(), share_, terms_, share_.rows),
      term_{0} {
  for (const LeafOf<V>& l : matrix.leaves()) term_.push_back(term_.back() + std::max(l.rank, 0));
  for (const Cluster& c : matrix.tree().clusters)
    if (c.is_leaf()) cuts_.push_back(c.begin);
  cuts_.push_back(i32(matrix.size()));
  std::sort(cuts_.begin(), cuts_.end());
  std::vector<std::vector<i32>> met(cuts_.size());
  for (std::size_t l = 0; l < matrix.leaves().size(); l++) {
    const RowRange columns = matrix.leaves()[l].block.columns;
    for (auto c = std::lower_bound(cuts_.begin(), cuts_.end(), columns.begin); *c < columns.end; c++)
      met[std::size_t(c - cuts_.begin())].push_back(i32(l));
  }
  for (auto& leaves : met) {
    met_.push_back(leaves_.size());
    leaves_.insert(leaves_.end(), leaves.begin(), leaves.end());
  }
}

template <class V>
void HostProductOf<V>::multiply(const V* x, V* y, int columns, bool is_transposed) const {
  if (columns <= most_columns) return is_transposed ? transposed(x, y, columns) : forward(x, y, columns);
  const std::size_t n = std::size_t(matrix_.size());
  std::vector<V> some(n * most_columns), result(n * most_columns);
  for (int first = 0; first < columns; first += most_columns) {
    const int width = std::min(most_columns, columns - first);
    for (std::size_t i = 0; i < n; i++) std::copy_n(x + i * columns + first, width, some.data() + i * width);
    multiply(some.data(), result.data(), width, is_transposed);
    for (std::size_t i = 0; i < n; i++) std::copy_n(result.data() + i * width, width, y + i * columns + first);
  }
}

template <class V>
void HostProductOf<V>::forward(const V* x, V* y, int columns) const {
  const i64 n = matrix_.size(), terms = i64(terms_.pieces.size());
  std::vector<V> z(std::size_t((n + terms) * columns));
  std::copy_n(x, n * columns, z.data());
  auto project = [&](i64 begin, i64 end) {
    for (i64 k = begin; k < end; k++) {
      const PieceOf<V>& p = terms_.pieces[std::size_t(k)];
      add_piece(p.values, p.length, x + i64(p.first) * columns, z.data() + (n + k) * columns, columns);
    }
  };
  for_parts(0, terms, project, least);
  auto add_up = [&](i64 begin, i64 end) {
    std::fill(y + begin * columns, y + end * columns, V{});
    for (i64 first = begin, last; first < end; first = last) {  // rows of a strip
      const Strip* strip = &strips_.strips[std::size_t(strips_.strip_of[std::size_t(first)])];
      last = std::min<i64>(end, strip[1].row);
      for (u32 k = strip->pieces; k < strip[1].pieces; k++) {
        const PieceOf<V>& p = strips_.pieces[k];
        const V* values = p.values + (first - strip->row) * p.length;
        for (i64 i = first; i < last; i++, values += p.length)
          add_piece(values, p.length, z.data() + i64(p.first) * columns, y + i * columns, columns);
      }
    }
  };
  for_parts(0, n, add_up, least);
}

// Columns of a cluster are added up together, over the rows or terms of each block that they lie in.
template <class V>
void HostProductOf<V>::transposed(const V* x, V* y, int columns) const {
  const auto& leaves = matrix_.leaves();
  std::vector<V> terms(std::size_t(term_.back() * columns));
  auto project = [&](i64 begin, i64 end) {
    for (i64 l = begin; l < end; l++) {
      const LeafOf<V>& leaf = leaves[std::size_t(l)];
      for (i32 i = 0; i < leaf.block.rows.size(); i++)
        for (i32 k = 0; k < leaf.rank; k++)
          add(leaf.u[i64(i) * leaf.rank + k], x + i64(leaf.block.rows.begin + i) * columns,
              terms.data() + (term_[std::size_t(l)] + k) * columns, columns);
    }
  };
  for_parts(0, i64(leaves.size()), project, least);
  auto add_up = [&](i64 first, i64 last) {
    std::fill(y + i64(cuts_[std::size_t(first)]) * columns, y + i64(cuts_[std::size_t(last)]) * columns, V{});
    for (std::size_t c = std::size_t(first); c < std::size_t(last); c++)
      for (std::size_t m = met_[c]; m < met_[c + 1]; m++) {
        const LeafOf<V>& leaf = leaves[std::size_t(leaves_[m])];
        const i64 width = leaf.block.columns.size(), from = cuts_[c] - leaf.block.columns.begin;
        const V* values = (leaf.is_dense() ? leaf.u : leaf.v) + from;
        const V* operand = leaf.is_dense() ? x + i64(leaf.block.rows.begin) * columns
                                           : terms.data() + term_[std::size_t(leaves_[m])] * columns;
        const i32 count = leaf.is_dense() ? leaf.block.rows.size() : leaf.rank;
        for (i32 k = 0; k < count; k++)
          for (i32 j = cuts_[c]; j < cuts_[c + 1]; j++)
            add(values[k * width + (j - cuts_[c])], operand + i64(k) * columns, y + i64(j) * columns, columns);
      }
  };
  for_parts(0, i64(cuts_.size()) - 1, add_up, least / 16);
}

template class HostProductOf<double>;
template class HostProductOf<Number>;

}  // namespace sordino::hmatrix
