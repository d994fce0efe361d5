// y = A x with an H-matrix whose rows are distributed: by contiguous rows of about equal bytes.
#pragma once
#include <memory>

#include "sordino/hmatrix/others_rows.hpp"
#include "sordino/hmatrix/product.hpp"
#include "sordino/linalg/group_gather.hpp"
#include "sordino/linalg/operator.hpp"
#include "sordino/linalg/partition.hpp"

namespace sordino::hmatrix {

/// Rows for each rank such that all read about as many bytes in a product. Throws bad_argument if there are more ranks than
/// rows.
template <class V>
Partition balance(const HMatrixOf<V>& matrix, int ranks);
/// Rows of all these ranks, as they are cut; where there are no cuts, by balance().
template <class V>
Partition partition_of(const HMatrixOf<V>& matrix, const Ranks& ranks);

/// Two commands an application, no reduction; on GPUs a third one where dot products are asked for. The exchange brings the
/// rows of x that a rank's share needs and it does not own, by rows all of them: 8 B each, 16 of complex ones; terms of blocks
/// whose columns it owns are projected while it is under way. By leaves and in a grid there are two commands more: others' rows
/// of the result, which are under way while own ones are computed, and the sum. On the host values are viewed where the matrix
/// has them; a device holds a copy of those that its rank needs, in which by rows blocks cut by ranks have their v on each.
class HMatrixOperator final : public Operator {
 public:
  /// Collective. `matrix` must outlive it. Vectors are distributed, in the order of the matrix's tree; those of a complex one
  /// are words, real and imaginary part of each row.
  template <class V>
  HMatrixOperator(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition, Distribution how = Distribution::rows);
  /// The same on the space of another operator, of the same rows.
  template <class V>
  HMatrixOperator(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition, Distribution how, int on_space);
  /// The same of a real one on replicated vectors: each rank has the result of its rows, and all ranks gather it (000, section
  /// VI). `group`: as many neighbouring ranks receive each row of other groups once, and hand it on (linalg/group_gather.hpp);
  /// 1 and all ranks are the gather from each to each. The bits are the same.
  template <class V>
  static std::unique_ptr<HMatrixOperator> gathered(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition,
                                                   Distribution how = Distribution::rows, int group = 1);

  /// Collective. The same of `columns` vectors at once, 2, 4 or 8 but no more than most_columns(), on a space of its own, where
  /// they lie interleaved, [rows][columns]: values are read once for all, messages are as many and longer, and each column has
  /// the bits that it has alone. `matrix`, `partition` and `how` are those that this one was made of; it is distributed, not
  /// gathered. Shares values and tables with this one; new are x, y, z, and rows of others, of so many columns. Such a product
  /// takes no dot products.
  template <class V>
  HMatrixOperator of_columns(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition, Distribution how,
                             int columns) const;
  /// 8, or less where a rank's vectors of so many would have more words than can be counted.
  int most_columns() const { return product_->most_columns(); }

  void apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue = {}) const override;
  int space() const override { return space_; }  // of words: of each row two of a complex matrix, times the columns
  int group() const override { return group_; }
  Vec operand(Rank& rank, const char* name) const override {
    return rank.vector(name, space_, gathers_ ? nullptr : &exchange_);
  }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space_, sent_by()); }
  /// What it holds itself: on a device in its memory, else its tables.
  i64 bytes() const { return product_->bytes() + (others_ ? others_->bytes() : 0); }

 private:
  HMatrixOperator() = default;
  const Exchange* sent_by() const { return by_groups_ ? &by_groups_->last_hop() : gathers_ ? &exchange_ : nullptr; }
  template <class V>
  void build(Rank& rank, const Partition& partition, Distribution how, Layout<V> layout);
  template <class V>
  void distribute(Rank& rank, const Partition& partition, Distribution how, const Share<V>& share);

  bool gathers_ = false;
  int columns_ = 1, group_ = 1;
  int space_ = -1;
  Exchange exchange_;
  std::unique_ptr<Product> product_;
  std::unique_ptr<GroupGather> by_groups_;
  std::unique_ptr<OthersRows> others_;  // where ranks compute rows for one another
};

}  // namespace sordino::hmatrix
