// What a row says of its matrix: for loops of the host and for kernels, with the same bits.
#pragma once
#include <cmath>
#include <limits>

#include "sordino/base/types.hpp"

namespace sordino {

inline constexpr double steep_ratio = 100;  // of a row's couplings, the largest over the smallest: between two phases
inline constexpr double uneven_ratio = 10;  // where there may be two

struct RowFacts {
  double diagonal = 0;
  double magnitudes = 0;                                             // what those of all entries add up to
  double least = std::numeric_limits<double>::infinity(), most = 0;  // couplings, but for zeros

  /// One entry after the other, as the row has them.
  SORDINO_HD void add(double value, bool is_diagonal) {
    const double size = std::fabs(value);
    magnitudes += size;
    if (is_diagonal) diagonal = value;
    const double coupling = is_diagonal ? 0 : size;
    least = coupling != 0 && coupling < least ? coupling : least, most = most < coupling ? coupling : most;
  }
  SORDINO_HD bool couples() const { return least <= most; }
  SORDINO_HD bool is_steep() const { return most > steep_ratio * least; }
  SORDINO_HD bool is_uneven() const { return most > uneven_ratio * least; }
};

}  // namespace sordino
