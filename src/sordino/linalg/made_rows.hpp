// A matrix that nobody has as CSR: who stores it is given its entries by diagonals, where it wants them.
#pragma once
#include <functional>

#include "sordino/linalg/diagonals.hpp"

namespace sordino {

struct MadeRows {
  i64 n = 0;                 // rows; 0: there are none
  Diagonals diagonals = {};  // in order, not constant, and each kept; symmetric or not, as who stores it likes
  std::function<i64(i64 first, i64 rows)> entries = {};
  /// Writes those of rows [first, first + rows) to where DiagonalPlaces says, in memory of the host or of any GPU, on which
  /// nothing is under way; returns when it is done. Ranks may call it at the same time.
  std::function<void(const Diagonals& diagonals, i64 first, i64 rows, double* to)> fill = {};
  /// 1 / A[i][i] from that row on, of those of the same rank, where fill() reads, too.
  std::function<const double*(i64 row)> inverse_diagonal = {};

  bool is_given() const { return n > 0; }
};

}  // namespace sordino
