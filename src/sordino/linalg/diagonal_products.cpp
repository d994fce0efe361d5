#include "sordino/linalg/diagonal_products.hpp"

#include <algorithm>
#include <array>

#include "sordino/linalg/diagonal_ways.hpp"

namespace sordino {
namespace {

constexpr i32 most_rows = 512;  // at once, so that y and what several diagonals read of x stay in the first cache

/// Entries of a diagonal that has none stored.
constexpr std::array<double, most_rows> ones = [] {
  std::array<double, most_rows> all{};
  all.fill(1);
  return all;
}();

/// So many diagonals side by side. A function with other registers than the program's takes it in only if it must.
template <int together, bool is_first>
[[gnu::always_inline]] inline void add_together(const DiagonalPart* diagonals, i32 from, double* __restrict y, i32 rows) {
  const double *values[together], *x[together];
  for (int j = 0; j < together; j++) {
    values[j] = diagonals[j].values ? diagonals[j].values + from : ones.data();
    x[j] = diagonals[j].x + from;
  }
  for (i32 i = 0; i < rows; i++) {
    double sum = is_first ? 0 : y[i];
    for (int j = 0; j < together; j++) sum += values[j][i] * x[j][i];
    y[i] = sum;
  }
}

template <bool is_first>
[[gnu::always_inline]] inline i32 add_some(const DiagonalPart* diagonals, i32 count, i32 from, double* y, i32 rows) {
  if (count >= 9) return add_together<9, is_first>(diagonals, from, y, rows), 9;
  if (count >= 7) return add_together<7, is_first>(diagonals, from, y, rows), 7;
  if (count >= 5) return add_together<5, is_first>(diagonals, from, y, rows), 5;
  if (count >= 3) return add_together<3, is_first>(diagonals, from, y, rows), 3;
  return add_together<1, is_first>(diagonals, from, y, rows), 1;
}

[[gnu::always_inline]] inline void add_all(const DiagonalPart* diagonals, i32 count, double* y, i32 rows) {
  for (i32 from = 0; from < rows; from += most_rows) {
    const i32 here = std::min(rows - from, most_rows);
    i32 d = add_some<true>(diagonals, count, from, y + from, here);
    while (d < count) d += add_some<false>(diagonals + d, count - d, from, y + from, here);
  }
}

void add_by_any(const DiagonalPart* diagonals, i32 count, double* y, i32 rows) { add_all(diagonals, count, y, rows); }

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_by_fours(const DiagonalPart* diagonals, i32 count, double* y, i32 rows) {
  add_all(diagonals, count, y, rows);
}
[[gnu::target("avx512f,prefer-vector-width=512")]] void add_by_eights(const DiagonalPart* diagonals, i32 count, double* y,
                                                                      i32 rows) {
  add_all(diagonals, count, y, rows);
}
#endif

}  // namespace

std::vector<AddDiagonals> ways_to_add_diagonals() {
  std::vector<AddDiagonals> ways;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) ways.push_back(add_by_eights);
  if (__builtin_cpu_supports("avx2")) ways.push_back(add_by_fours);
#endif
  ways.push_back(add_by_any);
  return ways;
}

void add_diagonals(const DiagonalPart* diagonals, i32 count, double* y, i32 rows) {
  static const AddDiagonals add = ways_to_add_diagonals().front();
  add(diagonals, count, y, rows);
}

}  // namespace sordino
