// An H-matrix beside the whole matrix that it stands for.
#pragma once
#include <numeric>

#include "sordino/hmatrix/hmatrix.hpp"
#include "unit/hmatrix/surfaces.hpp"

namespace dense {

using namespace sordino;
using namespace sordino::hmatrix;

/// All entries, row by row, in the tree's order.
template <class V>
std::vector<V> of(const GeneratorOf<V>& generator, const ClusterTree& tree) {
  std::vector<V> all(std::size_t(generator.size() * generator.size()));
  generator.entries(tree.order, tree.order, all.data());
  return all;
}

/// What is stored, as rows of the whole.
template <class V>
std::vector<V> of(const HMatrixOf<V>& matrix) {
  const std::size_t n = std::size_t(matrix.size());
  std::vector<V> all(n * n);
  for (std::size_t i = 0; i < n; i++) matrix.row(i32(i), all.data() + i * n);
  return all;
}

template <class V>
double norm(const std::vector<V>& v) {
  long double sum = 0;
  for (const V& x : v) sum += squared(x);
  return double(std::sqrt(sum));
}

template <class V>
double distance(const std::vector<V>& a, const std::vector<V>& b) {
  std::vector<V> d(a.size());
  for (std::size_t k = 0; k < a.size(); k++) d[k] = a[k] - b[k];
  return norm(d);
}

/// rows [n][n] times x, in long double.
inline std::vector<double> times(const std::vector<double>& rows, const std::vector<double>& x, bool transposed = false) {
  const std::size_t n = x.size();
  std::vector<double> y(n);
  for (std::size_t i = 0; i < n; i++) {
    long double sum = 0;
    for (std::size_t j = 0; j < n; j++) sum += (long double)(transposed ? rows[j * n + i] : rows[i * n + j]) * x[j];
    y[i] = double(sum);
  }
  return y;
}

}  // namespace dense
