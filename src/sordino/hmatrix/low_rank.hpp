// A block as a sum of few outer products, and where its entries come from.
#pragma once
#include <span>
#include <vector>

#include "sordino/hmatrix/generator.hpp"
#include "sordino/hmatrix/values.hpp"

namespace sordino::hmatrix {

/// A block of a generator's matrix: its rows and columns by their numbers there.
template <class V>
struct Section {
  const GeneratorOf<V>& generator;
  std::span<const i32> rows, columns;

  i32 height() const { return i32(rows.size()); }
  i32 width() const { return i32(columns.size()); }
  void row(i32 i, V* out) const { generator.entries(rows.subspan(std::size_t(i), 1), columns, out); }
  void column(i32 j, V* out) const { generator.entries(rows, columns.subspan(std::size_t(j), 1), out); }
  void all(V* out) const { generator.entries(rows, columns, out); }
};

/// The sum over k of u_k v_k^T, of complex vectors, too.
template <class V>
struct LowRank {
  i32 height = 0, width = 0, rank = 0;
  std::vector<V> u, v;  // [rank][height] and [rank][width]

  LowRank() = default;
  LowRank(i32 height_, i32 width_) : height(height_), width(width_) {}
  V* u_of(i32 k) { return u.data() + std::size_t(k) * std::size_t(height); }
  V* v_of(i32 k) { return v.data() + std::size_t(k) * std::size_t(width); }
  const V* u_of(i32 k) const { return u.data() + std::size_t(k) * std::size_t(height); }
  const V* v_of(i32 k) const { return v.data() + std::size_t(k) * std::size_t(width); }
  void append(std::span<const V> column, std::span<const V> row) {
    u.insert(u.end(), column.begin(), column.end());
    v.insert(v.end(), row.begin(), row.end());
    rank++;
  }
  V entry(i32 i, i32 j) const;
  /// Takes row i, or column j, of the sum from `values`.
  void subtract_row(i32 i, V* values) const;
  void subtract_column(i32 j, V* values) const;
  /// The square of the Frobenius norm. O((height + width) rank^2) operations.
  double norm_squared() const;
  /// Numbers that a matrix keeps of it.
  i64 entries() const { return (i64(height) + width) * rank; }
};

}  // namespace sordino::hmatrix
