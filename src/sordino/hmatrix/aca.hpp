// Adaptive cross approximation: a block from few of its rows and columns (000, section II; Bebendorf 2000, ACA+ of Grasedyck
// 2005).
#pragma once
#include <limits>

#include "sordino/hmatrix/comparison.hpp"
#include "sordino/hmatrix/low_rank.hpp"

namespace sordino::hmatrix {

/// The paper's stop rule: a sum ends with a term that is less than eps of the first one, ||u_k|| ||v_k|| < eps ||u_1|| ||v_1||.
/// It estimates the error and bounds nothing; what has been missed is found by comparing entries (compression.hpp).
struct CrossOptions {
  double eps = 1e-6;
  i32 first_row = -1;  // begin with this one, whose residual is not zero; -1: with any
  i32 most_rank = std::numeric_limits<i32>::max();
};

/// A sum, and the rows and columns that its terms are made of.
template <class V>
struct Crosses {
  LowRank<V> sum;
  std::vector<i32> rows = {}, columns = {};  // [sum.rank], which increase

  Pivots pivots() const { return {rows.data(), columns.data(), sum.rank}; }
};

/// Partial pivoting: a row of the residual, in it the largest entry, its column, in it the largest entry, whose row is the
/// next. Evaluates rank rows and rank columns. Where a row of the residual vanishes the next unused one is tried, so blocks
/// that fall apart into parts without a common row or column are found as a whole; a block of zeros has rank 0.
/// `begun`, if there is one, goes on with more terms.
template <class V>
Crosses<V> aca(const Section<V>& block, const CrossOptions& options, Crosses<V> begun = {});

/// With a row and a column of reference, whose residuals show what the pivots have not seen; the larger of both chooses where
/// to go on, and the sum ends when both are small, too, and then without the small term (as HACApK's). One more row and column,
/// and new ones where a pivot takes them.
template <class V>
Crosses<V> aca_plus(const Section<V>& block, const CrossOptions& options, Crosses<V> begun = {});

}  // namespace sordino::hmatrix
