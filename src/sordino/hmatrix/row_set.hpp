// Some of the rows of the whole.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::hmatrix {

/// Rows in increasing order, numbered from 0 on.
class RowSet {
 public:
  RowSet() = default;
  explicit RowSet(RowRange rows) { add(rows); }
  /// Those of n that one of these ranges has. O(n + ranges).
  static RowSet of(i32 n, const std::vector<RowRange>& ranges);
  RowSet without(RowRange rows) const;

  i32 size() const { return size_; }
  /// Of one of them.
  i32 number(i32 row) const;
  /// That do not touch one another.
  const std::vector<RowRange>& ranges() const { return ranges_; }

 private:
  void add(RowRange rows);  // behind all others
  std::vector<RowRange> ranges_;
  std::vector<i32> before_;  // [ranges] rows of those before each
  i32 size_ = 0;
};

}  // namespace sordino::hmatrix
