#include "sordino/hmatrix/low_rank.hpp"

#include <numeric>

namespace sordino::hmatrix {
namespace {

void subtract(double factor, const double* from, i32 n, double* values) {
  for (i32 i = 0; i < n; i++) values[i] -= factor * from[i];
}

}  // namespace

double LowRank::entry(i32 i, i32 j) const {
  double sum = 0;
  for (i32 k = 0; k < rank; k++) sum += u_of(k)[i] * v_of(k)[j];
  return sum;
}

void LowRank::subtract_row(i32 i, double* values) const {
  for (i32 k = 0; k < rank; k++) subtract(u_of(k)[i], v_of(k), width, values);
}

void LowRank::subtract_column(i32 j, double* values) const {
  for (i32 k = 0; k < rank; k++) subtract(v_of(k)[j], u_of(k), height, values);
}

double LowRank::norm_squared() const {
  double sum = 0;
  for (i32 k = 0; k < rank; k++)
    for (i32 l = 0; l <= k; l++) {
      const double uu = std::inner_product(u_of(k), u_of(k) + height, u_of(l), 0.0);
      const double vv = std::inner_product(v_of(k), v_of(k) + width, v_of(l), 0.0);
      sum += (k == l ? 1 : 2) * uu * vv;
    }
  return sum;
}

}  // namespace sordino::hmatrix
