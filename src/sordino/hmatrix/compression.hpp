// One admissible block, approximated to a tolerance that is checked.
#pragma once
#include <limits>
#include <string>

#include "sordino/hmatrix/low_rank.hpp"

namespace sordino::hmatrix {

inline constexpr double share_of_crosses = 0.5, share_of_the_rest = 0.866;  // of the tolerance: the squares add up to 1
inline constexpr double stop_rule_to_error = 0.5, after_a_miss = 0.01;      // of what is asked of the crosses
inline constexpr int checked_rows = 32, checked_columns = 4;                // of each of them: entries drawn at random

enum class Approximation { aca, aca_plus, full };

/// The name's; throws bad_argument for others, with those that there are.
Approximation approximation(const std::string& name);

struct CompressionOptions {
  double eps = 1e-6;  // ||block - sum|| <= eps ||block||, Frobenius
  Approximation approximation = Approximation::aca_plus;
  bool recompress = true;
  /// Entries drawn at random show what crosses have missed; then the block is done again, and at last from all its entries.
  /// Without it, and without recompression, the sums are HACApK's.
  bool certify = true;
  /// Terms of a block, the most: where it has them the tolerance may be missed, and is not checked.
  i32 most_rank = std::numeric_limits<i32>::max();
};

template <class V>
struct Compressed {
  LowRank<V> sum;
  int redone = 0;  // how often
};

/// Cross approximation to half the tolerance, as 128 entries of 32 rows show it that depend on `seed` alone, then recompression
/// with the rest of it. The estimate has no bias; an error that lies in few rows or columns may be missed. Evaluates rank rows
/// and columns and these entries; from all entries, `full`, the error is known. Blocks of more than 2^24 entries are not
/// evaluated as a whole after a miss, but by crosses of ever finer tolerance. Throws bad_argument for entries that are found
/// not finite.
template <class V>
Compressed<V> compress(const Section<V>& block, const CompressionOptions& options, u64 seed);

}  // namespace sordino::hmatrix
