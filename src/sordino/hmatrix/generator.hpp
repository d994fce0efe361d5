// What an H-matrix is made of: points, and the entries that belong to pairs of them. A kernel is one small file that derives
// from this (bem/laplace.hpp; bem/helmholtz.hpp, of complex entries).
#pragma once
#include <memory>
#include <span>

#include "sordino/hmatrix/trees.hpp"

namespace sordino::hmatrix {

template <class V>
class LeafDevice;

/// A dense matrix that nobody stores. Entries, of which V is double or Complex<double>, are asked for by blocks, from several
/// threads at the same time.
template <class V>
class GeneratorOf {
 public:
  virtual ~GeneratorOf() = default;
  virtual i64 size() const = 0;
  /// [size][3]: where row i and column i are. Clusters are made of them.
  virtual const double* points() const = 0;
  /// out [rows][columns], row by row, of the entries at these rows and columns.
  virtual void entries(std::span<const i32> rows, std::span<const i32> columns, V* out) const = 0;
  /// Trees of the points, for a build by GPUs with these CUDA numbers. Threads make them; who has code for GPUs below lets
  /// make_trees_on_gpus() do it.
  virtual Trees trees_on_gpus(std::span<const int> /*gpus*/, const TreeOptions& options) const {
    return make_trees(points(), size(), options);
  }
  /// A GPU that computes leaves of this matrix, rows and columns in `order` (leaf_device.hpp); null: there is no code for one.
  virtual std::shared_ptr<LeafDevice<V>> on_gpu(int /*device*/, std::span<const i32> /*order*/) const { return nullptr; }
};

using Generator = GeneratorOf<double>;

}  // namespace sordino::hmatrix
