// y = A x of a rank's share of an H-matrix, as a rank's engine is quickest with it; HMatrixOperator knows about ranks.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "sordino/hmatrix/row_strips.hpp"
#include "sordino/hmatrix/share.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino::hmatrix {

/// What a rank computes, and where its vectors lie; of complex vectors two words are a row.
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
  /// What it holds itself, in the engine's memory.
  virtual i64 bytes() const = 0;
};

/// On engines that compute with threads of a host: row_strips.hpp, with values where the matrix has them.
template <class V>
std::unique_ptr<Product> strip_product(Rank& rank, const Layout<V>& layout);
/// On GPUs: panel_rows.hpp, with a copy of the values. Memory of the host while it is made: 96 MiB, and
/// 24 B for each block that a leaf cluster of the rows lies in.
template <class V>
std::unique_ptr<Product> panel_product(Rank& rank, const Layout<V>& layout);

/// Memory of an engine, given back even if a constructor ends early.
class EngineMemory {
 public:
  explicit EngineMemory(Rank& rank) : rank_(rank) {}
  EngineMemory(const EngineMemory&) = delete;
  ~EngineMemory();
  template <class T>
  T* reserve(i64 count) {
    return static_cast<T*>(take(std::size_t(count) * sizeof(T)));
  }
  template <class T>
  const T* uploaded(const std::vector<T>& from) {
    T* to = reserve<T>(i64(from.size()));
    if (!from.empty()) rank_.engine().upload(rank_, to, from.data(), from.size() * sizeof(T));
    return to;
  }
  i64 bytes() const { return bytes_; }

 private:
  void* take(std::size_t bytes);
  Rank& rank_;
  std::vector<std::pair<void*, std::size_t>> pieces_;
  i64 bytes_ = 0;
};

}  // namespace sordino::hmatrix
