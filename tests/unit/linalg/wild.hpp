// Matrices in which rows are coupled in every way that aggregation tells apart.
#pragma once
#include <cmath>

#include "unit/linalg/matrices.hpp"

namespace matrices {

/// Symmetric, with couplings of both signs and of many magnitudes, rows that couple with nobody, and rows that are held.
inline CsrMatrix wild(fresh::Random& random, i64 n, int couplings) {
  matrices::Rows rows(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++) rows[std::size_t(i)][i32(i)] = 1e-3;
  for (i64 k = 0; k < n * couplings; k++) {
    const i64 i = random.whole(0, n - 1), j = random.whole(0, n - 1);
    if (i == j || i % 17 == 0 || j % 17 == 0) continue;
    const double value = std::ldexp(random.whole(0, 9) == 0 ? 1.0 : -1.0, int(random.whole(-6, 6)));
    rows[std::size_t(i)][i32(j)] = rows[std::size_t(j)][i32(i)] = value;
    for (i64 row : {i, j}) rows[std::size_t(row)][i32(row)] += std::abs(value) * (row % 13 == 0 ? 100 : 1);
  }
  return matrices::csr(rows);
}

/// A line of rows, each of which is coupled with the next one five times as strongly as with the one before: all but two of
/// them join others. Numbered along the line, or anyhow.
inline CsrMatrix growing(fresh::Random& random, i64 n, bool in_order) {
  std::vector<i64> number(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++) {
    number[std::size_t(i)] = i;
    if (!in_order) std::swap(number[std::size_t(i)], number[std::size_t(random.whole(0, i))]);
  }
  Rows rows(static_cast<std::size_t>(n));
  double coupling = 1e-60;
  for (i64 i = 0; i < n; i++, coupling *= 5) {
    auto& row = rows[std::size_t(number[std::size_t(i)])];
    row[i32(number[std::size_t(i)])] += 1.5 * coupling;
    if (i + 1 == n) break;
    auto& next = rows[std::size_t(number[std::size_t(i + 1)])];
    row[i32(number[std::size_t(i + 1)])] = next[i32(number[std::size_t(i)])] = -coupling;
    next[i32(number[std::size_t(i + 1)])] += coupling;
  }
  return csr(rows);
}

}  // namespace matrices
