// The values of a lower triangle as paper 004 has them: dense blocks, and on the diagonal triangles to substitute with.
#pragma once
#include "sordino/base/large_array.hpp"
#include "sordino/trsv/factor.hpp"
#include "sordino/trsv/paper_layout.hpp"

namespace sordino::trsv::paper {

/// Memory: the values of the pattern, and 4 B for each of its rows.
template <class V>
class Factor {
 public:
  /// `nodes`: supernodes of the triangle's pattern. Cost: the values once, and a search of log2(blocks of a column) an entry.
  /// Throws bad_argument where the arrays are no lower triangle, or the supernodes are not those of its pattern.
  Factor(const TriangleView<V>& L, const Supernodes& nodes, i32 most_columns = 128);

  /// The triangle of the transposed system, rows and columns in the opposite order, which makes it a lower one. Its blocks
  /// store all rows of their block row, with zeros where the other's left rows out. Cost: its values.
  Factor transposed() const;

  const Pattern& pattern() const { return pattern_; }
  /// Row k of the triangle is row order()[k] of the caller's.
  const std::vector<i32>& order() const { return order_; }
  /// Of block e, column by column: [width][height].
  const V* values(i64 e) const { return values_.data() + begin_[std::size_t(e)]; }
  bool is_unit() const { return unit_; }
  i64 bytes() const { return i64(values_.size() * sizeof(V)); }

 private:
  struct Place {
    i64 block = -1;  // -1: none
    i64 row = 0;     // of those that it stores
  };
  Factor() = default;
  Place place(i32 K, i32 row) const;
  /// Memory for the pattern's values, zeros.
  void make_values();

  Pattern pattern_;
  std::vector<i32> order_, block_of_;  // [n]
  std::vector<i64> begin_;             // [blocks]
  LargeArray<V> values_;
  bool unit_ = false;
};

}  // namespace sordino::trsv::paper
