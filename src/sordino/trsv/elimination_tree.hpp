// The elimination tree of a lower triangle's pattern, and what follows from it (Davis, Direct Methods for Sparse Linear
// Systems, 2006, chapter 4; counts after Gilbert, Ng and Peyton, 1994). All of it is linear in the entries, up to a logarithm.
#pragma once
#include <optional>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::trsv {

/// Columns of a lower triangle: rows of column j are rows[begin[j]], ..., in any order, with or without the diagonal.
struct LowerPattern {
  i64 n = 0;
  const i64* begin = nullptr;  // [n + 1]
  const i32* rows = nullptr;   // [entries]
  bool sorted = false;         // somebody has seen that rows of each column increase, none twice, as validate() does

  i64 entries() const { return begin[n]; }
  /// Of a sorted pattern: the first entry of column j off the diagonal, which stands before all others.
  i64 below(i64 j) const { return begin[j] + (begin[j] < begin[j + 1] && rows[begin[j]] == j); }
};

inline constexpr i32 no_parent = -1;

/// The parent of column j is the first row below the diagonal of column j of the filled pattern. [n]
std::vector<i32> elimination_tree(const LowerPattern& pattern);

/// Numbers of a forest's nodes such that children come before their parent, and subtrees are consecutive: the k-th is order[k].
std::vector<i32> postorder(const std::vector<i32>& parent);

/// How many entries column j of the filled pattern has, with the diagonal. [n]
std::vector<i32> column_counts(const LowerPattern& pattern, const std::vector<i32>& parent, const std::vector<i32>& order);

/// What elimination makes of a pattern.
struct Elimination {
  std::vector<i32> parent;  // [n] elimination_tree()
  std::vector<i32> order;   // [n] postorder()
  std::vector<i32> counts;  // [n] column_counts()
  bool nothing = false;     // it fills nothing

  i64 filled() const;  // entries of the filled pattern, with the diagonal
};

/// Cost: where the pattern is filled already, as that of a whole factor is, three passes over its entries, without memory for
/// them, of a sorted one a pass over some by so many threads (0: as many as there are cores); else it is found out at the first
/// column that elimination would fill, and the three functions above are called.
Elimination eliminate(const LowerPattern& pattern, int threads = 1);

/// The same, or none where the filled pattern has more than `most` entries and a bound says so at once: then by a count that is
/// linear in the rows, with some steps for each.
std::optional<Elimination> eliminate_up_to(const LowerPattern& pattern, i64 most, int threads = 1);

}  // namespace sordino::trsv
