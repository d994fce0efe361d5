// Products with an H-matrix on threads of this process, without an engine: for one product, its transpose, several vectors.
#pragma once
#include <vector>

#include "sordino/hmatrix/strips.hpp"

namespace sordino::hmatrix {

template <class V>
class HostProductOf {
 public:
  /// The matrix must outlive it. Memory: tables, some per cent of the matrix.
  explicit HostProductOf(const HMatrixOf<V>& matrix);
  /// y = A x, or A^T x: [n][columns] each, in the tree's order. Reads the matrix once for up to 8 columns at a time. The bits
  /// of a column do not depend on threads. A value of memory a column for each point and each term.
  void multiply(const V* x, V* y, int columns = 1, bool transposed = false) const;

 private:
  void forward(const V* x, V* y, int columns) const;
  void transposed(const V* x, V* y, int columns) const;

  const HMatrixOf<V>& matrix_;
  Share<V> share_;
  TermTable<V> terms_;
  StripTable<V> strips_;
  std::vector<i64> term_;         // [leaves + 1] the first term of each
  std::vector<i32> cuts_;         // first columns of the leaf clusters, and n
  std::vector<std::size_t> met_;  // [cuts] where their blocks begin in the next one
  std::vector<i32> leaves_;       // that have columns of the cluster
};

using HostProduct = HostProductOf<double>;

}  // namespace sordino::hmatrix
