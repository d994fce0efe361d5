#include "sordino/precond/scale_exponent.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread
// Of single precision 2^127 and 2^-126 are the ends, and products of two numbers are to stay between them. Halves have all
// their digits between 2^-14 and 2^15, and couplings may be less than diagonals by some powers of two more.
constexpr int most_of_single = 80, most_of_half = 24;

struct Diagonal {
  double least = std::numeric_limits<double>::infinity(), largest = 0;
};

Diagonal diagonal_of(const CsrView& A) {
  Diagonal all;
  std::mutex mutex;
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        Diagonal here;
        for (i64 i = begin; i < end; i++)
          for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
            if (A.indices[k] == i) {
              here.least = std::min(here.least, A.values[k]);
              here.largest = std::max(here.largest, A.values[k]);
            }
        std::lock_guard lock(mutex);
        all = {std::min(all.least, here.least), std::max(all.largest, here.largest)};
      },
      least_rows);
  return all;
}

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", value);
  return text;
}

}  // namespace

int scale_exponent(const CsrView& A, CyclePrecision precision) {
  if (precision == CyclePrecision::full) return 0;
  const Diagonal found = diagonal_of(A);
  const int low = std::ilogb(found.least), high = std::ilogb(found.largest);
  const bool half = precision == CyclePrecision::half;
  if (const int most = half ? most_of_half : most_of_single; high - low > most)
    bad_argument("cycle_precision " + std::string(half ? "half" : "single") +
                 " is for diagonals that differ by a factor of 2^" + std::to_string(most) +
                 " at most, and those of this matrix go from " + shown(found.least) + " to " + shown(found.largest) + ": use " +
                 (half ? "single or double" : "double"));
  return low + (high - low) / 2;
}

}  // namespace sordino
