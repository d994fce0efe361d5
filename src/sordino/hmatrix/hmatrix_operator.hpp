// y = A x with an H-matrix whose rows are distributed: by contiguous rows of about equal bytes.
#pragma once
#include <memory>

#include "sordino/hmatrix/product.hpp"
#include "sordino/linalg/operator.hpp"
#include "sordino/linalg/partition.hpp"

namespace sordino::hmatrix {

/// Rows for each rank such that all read about as many bytes in a product. Throws bad_argument if there are more ranks than
/// rows.
template <class V>
Partition balance(const HMatrixOf<V>& matrix, int ranks);

/// Two commands an application, no reduction; on GPUs a third one where dot products are asked for. The exchange is an
/// all-gather of x: 8 B for each row, 16 of a complex one, that a rank does not own; terms of blocks whose columns it owns are
/// projected while it is under way. On the host values are viewed where the matrix has them; a device holds a copy of those
/// that its rank needs, in which blocks cut by ranks have their v on each.
class HMatrixOperator final : public Operator {
 public:
  /// Collective. `matrix` must outlive it. Vectors are distributed, in the order of the matrix's tree; those of a complex one
  /// are words, real and imaginary part of each row.
  template <class V>
  HMatrixOperator(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition);
  /// The same on the space of another operator, of the same rows.
  template <class V>
  HMatrixOperator(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition, int on_space);
  /// The same of a real one on replicated vectors: each rank multiplies its rows, and all ranks gather the result (000, section
  /// VI).
  template <class V>
  static std::unique_ptr<HMatrixOperator> gathered(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition);

  void apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue = {}) const override;
  int space() const override { return space_; }  // of words: two for each row of a complex matrix
  Vec operand(Rank& rank, const char* name) const override {
    return rank.vector(name, space_, gathers_ ? nullptr : &exchange_);
  }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space_, gathers_ ? &exchange_ : nullptr); }
  /// What it holds itself: on a device in its memory, else its tables.
  i64 bytes() const { return product_->bytes(); }

 private:
  HMatrixOperator() = default;

  bool gathers_ = false;
  int space_ = -1;
  Exchange exchange_;
  std::unique_ptr<Product> product_;
};

}  // namespace sordino::hmatrix
