// Rows of several ranges, to be asked for others.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

class RowSet {
 public:
  void add(const std::vector<RowRange>& ranges);  // disjoint from those there are
  void sort();                                    // before asking
  /// Whether all, or some, of these rows are there. In a time of the set's ranges, not of the rows.
  bool has_all(RowRange rows) const;
  bool has_some(RowRange rows) const;

 private:
  /// The first range that begins behind the row.
  std::vector<RowRange>::const_iterator behind(i32 row) const;

  std::vector<RowRange> ranges_;  // none is empty
};

}  // namespace sordino
