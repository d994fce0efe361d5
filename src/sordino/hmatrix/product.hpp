// y = A x of a rank's share of an H-matrix, as a rank's engine is quickest with it; HMatrixOperator knows about ranks.
#pragma once
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/row_strips.hpp"
#include "sordino/hmatrix/share.hpp"
#include "sordino/runtime/engine_memory.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino::hmatrix {

/// What a rank computes, and where its vectors lie; of complex vectors two words are a row, of several their words together.
template <class V>
struct Layout {
  const Share<V>& share;
  const ClusterTree& tree;
  RowRange own;      // rows
  Places x;          // where the share's columns are
  RowRange at_hand;  // columns that need not be awaited
  i32 first = 0;     // row of y where own rows begin
};

class Product {
 public:
  virtual ~Product() = default;
  /// z = (x, V^T x)
  virtual void project(Rank& rank, Vec x) const = 0;
  /// Own rows of y = (D U) z.
  virtual void add_up(Rank& rank, Vec y, const StartDots& epilogue) const = 0;
  /// The share's other rows, in their order.
  virtual void add_up_others(Rank& rank, Vec others) const = 0;
  /// The same of vectors that lie interleaved, 1, 2, 4 or 8 of them, with the bits of each alone. It shares values and tables
  /// with this one; its own is z, of so many columns.
  virtual std::unique_ptr<Product> of_columns(Rank& rank, int columns) const = 0;
  /// How many these may be: rows of z are counted in words.
  virtual int most_columns() const = 0;
  /// What it holds itself, in the engine's memory.
  virtual i64 bytes() const = 0;
};

/// 8, 4, 2 or 1: such that vectors of so many rows have words that can be counted.
inline int countable_columns(i64 rows, int words) {
  int columns = most_columns;
  while (columns > 1 && rows * words * columns > std::numeric_limits<i32>::max()) columns /= 2;
  return columns;
}

/// make(a constant of that many columns)
template <class Make>
std::unique_ptr<Product> with_columns(int columns, const Make& make) {
  switch (columns) {
    case 1: return make(std::integral_constant<int, 1>{});
    case 2: return make(std::integral_constant<int, 2>{});
    case 4: return make(std::integral_constant<int, 4>{});
    case 8: return make(std::integral_constant<int, 8>{});
    default: bad_argument("a product takes 1, 2, 4 or 8 vectors at once, not " + std::to_string(columns));
  }
}

/// On engines that compute with threads of a host: row_strips.hpp, with values where the matrix has them.
template <class V>
std::unique_ptr<Product> strip_product(Rank& rank, const Layout<V>& layout);
/// On GPUs: panel_rows.hpp, with a copy of the values. Memory of the host while it is made: 96 MiB, and
/// 16 B for each block that a leaf cluster of the rows lies in. By as many threads as there are cores for each rank here.
template <class V>
std::unique_ptr<Product> panel_product(Rank& rank, const Layout<V>& layout);

}  // namespace sordino::hmatrix
