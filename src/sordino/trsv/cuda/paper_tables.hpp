// A rank's part of a triangle in paper 004's layout, on its GPU.
#pragma once
#include "sordino/trsv/cuda/paper_kernels.hpp"
#include "sordino/trsv/cuda/rank_tables.hpp"
#include "sordino/trsv/paper_factor.hpp"

namespace sordino::trsv::paper {

template <class V>
class RankOnGpu {
 public:
  /// Of rank `rank`, on the current device. Values are not there yet. Throws bad_argument for block columns that are wider than
  /// a thread block.
  RankOnGpu(const Pattern& pattern, const std::vector<i32>& order, const Layout& layout, i32 rank);

  /// The factor's values, with inverses of the triangles on the diagonal. Cost: the values, and width^3 / 6 multiplications for
  /// each triangle, on the calling thread.
  void fill(const Factor<V>& factor);
  /// Values that stand for a factor's where only time matters (invented.hpp).
  void invent();

  /// Without what all ranks share.
  PaperTables<V> tables() const;
  i32 count() const { return i32(columns_.size()); }
  i64 value_bytes() const { return values_.bytes(); }
  i64 table_bytes() const;
  i64 vector_bytes() const { return lsum_.bytes() + fmod_.bytes(); }

 private:
  void take_columns(const Pattern& pattern, const Layout& layout);
  void take_rows(const Pattern& pattern, const Layout& layout);
  void take_masks(const Pattern& pattern, const Layout& layout);

  i32 rank_;
  const Part& part_;
  std::vector<ColumnOnGpu> columns_;
  i64 values_of_all_ = 0;
  OnGpu<ColumnOnGpu> columns_on_gpu_;
  OnGpu<BlockOnGpu> blocks_;
  OnGpu<RowOnGpu> rows_;
  OnGpu<i32> targets_, order_, shares_[2];
  OnGpu<Awaited> masks_[2];
  OnGpu<V> values_, lsum_;
  OnGpu<u32> fmod_, tickets_;
};

}  // namespace sordino::trsv::paper
