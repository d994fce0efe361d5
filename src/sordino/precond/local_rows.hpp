// Rows of a matrix that this process has, as a square matrix of its own: columns are numbered from 0, in their order, and those
// that others own have rows, too, without entries. So what works on whole matrices works on it, sums in the same order, and
// memory grows with the rows that are here.
#pragma once
#include <vector>

#include "sordino/linalg/ghost_rows.hpp"
#include "sordino/precond/level_maker.hpp"

namespace sordino {

/// Which rows of the whole are here, and which of others these touch.
struct LocalNumbers {
  i64 first = 0, own = 0;        // rows, in the whole
  std::vector<i64> ghosts = {};  // increasing, in the whole
  i64 before = 0;                // how many of them stand before the own rows
  GhostRows others = {};

  LocalNumbers() = default;
  /// Collective. `processes`: who has which rows, those of this one its rank's.
  LocalNumbers(Rank& rank, const Partition& processes, std::vector<i64> ghosts);

  i64 size() const { return own + i64(ghosts.size()); }
  i64 shift() const { return first - before; }  // from an own row's number here to that in the whole
  i32 here(i64 number) const;                   // of an own row, or a ghost
  i64 whole(i32 here) const;
  /// Collective. Of values of the own rows, [own], those of all that are here, [size].
  template <class T>
  std::vector<T> with_others(Rank& rank, const std::vector<T>& values) const {
    std::vector<T> all = others.fetch(rank, values);
    all.insert(all.begin() + before, values.begin(), values.end());
    return all;
  }
};

/// A matrix of such rows.
struct LocalRows {
  LocalNumbers numbers = {};
  std::vector<i64> indptr = {};   // [size + 1]
  std::vector<i32> indices = {};  // as they are numbered here

  /// Collective. Of rows whose columns are numbered in the whole.
  LocalRows(Rank& rank, const Partition& processes, const CsrView& A);
  LocalRows() = default;

  CsrView view(const double* values) const {
    return {.n = numbers.size(), .indptr = indptr.data(), .indices = indices.data(), .values = values};
  }
  /// Own rows alone.
  CsrView own_rows(const double* values) const;
};

/// Aggregates that each process has numbered from 0, numbered through all of them: what fours() is told.
class SharedAggregates {
 public:
  SharedAggregates(Rank& rank, const LocalNumbers& rows) : rank_(rank), rows_(rows) {}
  /// Collective. `found`: of own rows, in parts that are ranks. Aggregates are numbered as the rows of the next level are here.
  Aggregates operator()(Aggregates found);

  // Of the last ones:
  i64 all() const { return firsts_.back(); }
  /// Which of them each process has, and other processes' that this one's rows touch.
  Partition processes() const;
  const std::vector<i64>& ghosts() const { return ghosts_; }

 private:
  Rank& rank_;
  const LocalNumbers& rows_;
  std::vector<i64> firsts_ = {0};  // [processes + 1]
  std::vector<i64> ghosts_;
};

/// Of rows that begin where `firsts` says, [parts + 1]; some may have none.
Partition partition_of_parts(const std::vector<i64>& firsts);

}  // namespace sordino
