// The one order in which numbers are added up, wherever results must not depend on who adds: 32 running sums, of which the i-th
// number goes to sum i % 32; then halves are added, 16, 8, 4, 2, 1. A CPU keeps several additions in flight so, and a warp of a
// GPU has one thread for each running sum.
//
// Rows of a tile are summed in this order, tiles of a block one after the other, and blocks of the space in this order again.
#pragma once

namespace sordino {

constexpr int running_sums = 32;

/// Adds the running sums of `numbers` numbers; sum[0] gets the result. Sums that got no number are zeros, which need no adding:
/// a running sum begins with +0, so none of them is -0.
inline double fold(double (&sum)[running_sums], int numbers) {
  int half = running_sums / 2;
  while (half > 0 && half >= numbers) half /= 2;
  for (; half; half /= 2)
    for (int l = 0; l < half; l++) sum[l] += sum[l + half];
  return sum[0];
}

}  // namespace sordino
