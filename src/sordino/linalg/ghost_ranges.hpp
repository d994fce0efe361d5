// Rows of others that a rank has ghosts of, where they come in few ranges: the layers of a grid.
#pragma once
#include <vector>

#include "sordino/linalg/columns_outside.hpp"
#include "sordino/linalg/partition.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Ghost k is the k-th row of all ranges. Cost: of the ranges, not of the rows.
class GhostRanges {
 public:
  /// Increasing, none empty; where one ends the next one may begin, and they become one.
  explicit GhostRanges(const std::vector<ColumnRange>& ranges);
  /// Of rows that increase, without repetition.
  explicit GhostRanges(const std::vector<i64>& rows);

  const std::vector<ColumnRange>& ranges() const { return ranges_; }
  i64 count() const { return before_.back(); }
  /// How many ghosts come before this row, be it one or not.
  i64 place(i64 row) const;
  std::vector<i64> rows() const;

 private:
  void count_up();

  std::vector<ColumnRange> ranges_;
  std::vector<i64> before_;  // ghosts of the ranges before each of them, and of all
};

/// As make_halo() of linalg/halo.hpp, of ghosts by ranges.
Exchange make_halo(Rank& rank, const Partition& partition, const Space& space, const GhostRanges& ghosts);

}  // namespace sordino
