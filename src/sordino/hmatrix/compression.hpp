// One admissible block, approximated to a tolerance that is checked.
#pragma once
#include <limits>
#include <string>

#include "sordino/hmatrix/low_rank.hpp"

namespace sordino::hmatrix {

inline constexpr double share_of_crosses = 0.5, share_of_the_rest = 0.866;  // of the tolerance: the squares add up to 1
inline constexpr double stop_rule_to_error = 0.5, after_a_miss = 0.01;      // of what is asked of the crosses
inline constexpr i64 most_entries = i64(1) << 24;  // of a block that is evaluated as a whole: 128 MiB, 256 of complex ones
inline constexpr double largest_error = 1.37;  // of a block that is known to keep to them, were both errors parallel, in eps

enum class Approximation { aca, aca_plus, full };

/// The name's; throws bad_argument for others, with those that there are.
Approximation approximation(const std::string& name);

struct CompressionOptions {
  double eps = 1e-6;  // ||block - sum|| <= eps ||block||, Frobenius
  Approximation approximation = Approximation::aca_plus;
  bool recompress = true;
  /// Entries are compared (comparison.hpp), and where crosses have missed the tolerance the block is done again, at last from
  /// all its entries. Without it, and without recompression, the sums are HACApK's.
  bool certify = true;
  /// Terms of a block, the most: where it has them the tolerance may be missed, and is not checked.
  i32 most_rank = std::numeric_limits<i32>::max();
};

template <class V>
struct Compressed {
  LowRank<V> sum;
  int redone = 0;  // how often
};

/// Cross approximation to half the tolerance, as entries say that `seed` chooses (comparison.hpp), then recompression with the
/// rest of it. Of small blocks all entries that crosses have not seen are compared: the error is known. Of larger ones each
/// such row and column has a part in an estimate without bias; an error in single entries may be missed there. Evaluates rank
/// rows and columns, and up to half as many entries again; from all entries, `full`, the error is known. Blocks of more than
/// 2^24 entries are not evaluated as a whole after a miss, but by crosses of ever finer tolerance. Throws bad_argument for
/// entries that are found not finite.
template <class V>
Compressed<V> compress(const Section<V>& block, const CompressionOptions& options, u64 seed);

}  // namespace sordino::hmatrix
