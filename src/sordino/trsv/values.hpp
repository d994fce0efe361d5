// What entries of a triangular factor may be: float, double, or Complex<double>.
#pragma once
#include <cmath>
#include <limits>

#include "sordino/base/complex.hpp"

namespace sordino::trsv {

using Number = Complex<double>;

SORDINO_HD inline float conjugate(float a) { return a; }
SORDINO_HD inline double conjugate(double a) { return a; }
SORDINO_HD inline Number conjugate(Number a) { return conj(a); }
SORDINO_HD inline float reciprocal(float a) { return 1 / a; }
SORDINO_HD inline double reciprocal(double a) { return 1 / a; }
SORDINO_HD inline Number reciprocal(Number a) { return ratio(Number{1, 0}, a); }
inline double magnitude(float a) { return std::fabs(double(a)); }
inline double magnitude(double a) { return std::fabs(a); }
inline double magnitude(Number a) { return std::hypot(a.re, a.im); }
template <class V>
bool is_finite(V a) {
  return std::isfinite(magnitude(a));
}

/// What a place holds that nobody has written.
template <class V>
V unknown() {
  return std::numeric_limits<V>::quiet_NaN();
}
template <>
inline Number unknown() {
  return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace sordino::trsv
