// Supernodes of a lower triangle: consecutive columns with the same rows below them, which are stored and multiplied as one
// dense block. Their forest says who waits for whom in a solve.
#pragma once
#include <vector>

#include "sordino/trsv/elimination_tree.hpp"

namespace sordino::trsv {

/// How far a supernode may be merged with its parent, which stores zeros and saves a step: always up to `always` columns, else
/// if at most the named part of the merged block would be zeros.
struct Amalgamation {
  i32 always = 8;
  i32 narrow = 32, wide = 128;  // columns
  double of_narrow = 0.4, of_wide = 0.12, of_wider = 0.05;
};

/// Rows and columns are renumbered, children before parents: column k is column order[k] of the pattern. Supernode s has
/// columns column[s], ..., column[s + 1] - 1, and below them rows[row_begin[s]], ..., in increasing order, all of them columns
/// of ancestors. Children are numbered before their parent.
struct Supernodes {
  i64 n = 0;
  std::vector<i32> order;      // [n]
  std::vector<i32> column;     // [count + 1]
  std::vector<i64> row_begin;  // [count + 1]
  std::vector<i32> rows;
  std::vector<i32> parent;  // [count]

  i32 count() const { return i32(parent.size()); }
  i32 width(i32 s) const { return column[std::size_t(s) + 1] - column[std::size_t(s)]; }
  i32 height(i32 s) const { return i32(row_begin[std::size_t(s) + 1] - row_begin[std::size_t(s)]); }  // below its columns
  /// Of the triangle with the zeros that its supernodes store.
  i64 entries() const;
};

/// Supernodes of the filled pattern, so that each one's rows are among its parent's columns and rows. A triangular factor of a
/// matrix with a symmetric pattern is filled already; an incomplete one gets the fill that was dropped, as zeros. Cost: linear
/// in the rows of the supernodes, and in the entries of the pattern where it is not filled.
Supernodes find_supernodes(const LowerPattern& pattern, const Amalgamation& merging = {});
/// The same, where somebody has called eliminate() of it.
Supernodes find_supernodes(const LowerPattern& pattern, const Elimination& elimination, const Amalgamation& merging = {});

}  // namespace sordino::trsv
