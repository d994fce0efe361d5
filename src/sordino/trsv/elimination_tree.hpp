// The elimination tree of a lower triangle's pattern, and what follows from it (Davis, Direct Methods for Sparse Linear
// Systems, 2006, chapter 4; counts after Gilbert, Ng and Peyton, 1994). All of it is linear in the entries, up to a logarithm.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::trsv {

/// Columns of a lower triangle: rows of column j are rows[begin[j]], ..., in any order, with or without the diagonal.
struct LowerPattern {
  i64 n = 0;
  const i64* begin = nullptr;  // [n + 1]
  const i32* rows = nullptr;   // [entries]
};

inline constexpr i32 no_parent = -1;

/// The parent of column j is the first row below the diagonal of column j of the filled pattern. [n]
std::vector<i32> elimination_tree(const LowerPattern& pattern);

/// Numbers of a forest's nodes such that children come before their parent, and subtrees are consecutive: the k-th is order[k].
std::vector<i32> postorder(const std::vector<i32>& parent);

/// How many entries column j of the filled pattern has, with the diagonal. [n]
std::vector<i32> column_counts(const LowerPattern& pattern, const std::vector<i32>& parent, const std::vector<i32>& order);

}  // namespace sordino::trsv
