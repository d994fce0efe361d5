// Threads that compute one leaf together: one of a CPU (Alone), or all of a block on a GPU (cuda/block_team.cuh). What a leaf
// needs is written once, for both, as steps that a team does one after the other: all of its threads call them with the same
// words, and what one of them has written before a step ends, all see after it. The function that a step is given calls no
// other step of the same team.
#pragma once
#include <limits>

#include "sordino/hmatrix/values.hpp"

namespace sordino::hmatrix {

inline constexpr double nothing = -std::numeric_limits<double>::infinity();

/// The steps, as one thread does them.
struct Alone {
  /// f(k) for each k < n, whoever calls it.
  template <class F>
  SORDINO_HD void each(i32 n, const F& f) const {
    for (i32 k = 0; k < n; k++) f(k);
  }
  /// The sum of f(k), of numbers or pairs of them, in an order that depends on n and the size of the team alone.
  template <class F>
  SORDINO_HD auto total(i32 n, const F& f) const {
    decltype(f(0)) sum{};
    for (i32 k = 0; k < n; k++) sum = sum + f(k);
    return sum;
  }
  /// The first k whose f(k) is largest, NaN and `nothing` left out; -1 if there is none.
  template <class F>
  SORDINO_HD i32 best(i32 n, const F& f) const {
    i32 found = -1;
    double largest = nothing;
    for (i32 k = 0; k < n; k++)
      if (const double value = f(k); value > largest) largest = value, found = k;
    return found;
  }
  /// f(k, team) for each k < n, by a team of some of the threads, which no other k has meanwhile.
  template <class F>
  SORDINO_HD void share(i32 n, const F& f) const {
    for (i32 k = 0; k < n; k++) f(k, *this);
  }
};

}  // namespace sordino::hmatrix
