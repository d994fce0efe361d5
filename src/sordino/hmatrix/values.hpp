// What entries of an H-matrix may be, real or complex numbers, and what is said of both in the same words.
#pragma once
#include <cmath>

#include "sordino/base/complex.hpp"

namespace sordino::hmatrix {

using Number = Complex<double>;

/// Doubles that a value is: of a vector there are as many for each row.
template <class V>
inline constexpr int words_of = int(sizeof(V) / sizeof(double));

SORDINO_HD inline double conjugate(double a) { return a; }
SORDINO_HD inline Number conjugate(Number a) { return conj(a); }
SORDINO_HD inline double real_part(double a) { return a; }
SORDINO_HD inline double real_part(Number a) { return a.re; }
SORDINO_HD inline double magnitude(double a) { return fabs(a); }
SORDINO_HD inline double magnitude(Number a) { return hypot(a.re, a.im); }
SORDINO_HD inline double squared(double a) { return a * a; }  // |a|^2
SORDINO_HD inline double squared(Number a) { return norm(a); }
SORDINO_HD inline double quotient(double a, double b) { return a / b; }
SORDINO_HD inline Number quotient(Number a, Number b) { return ratio(a, b); }
/// a / |a|, and -1 of 0.
SORDINO_HD inline double direction(double a) { return a > 0 ? 1 : -1; }
SORDINO_HD inline Number direction(Number a) {
  const double size = magnitude(a);
  return size > 0 ? Number{a.re / size, a.im / size} : Number{-1, 0};
}

/// An array by its words.
SORDINO_HD inline const double* words(const double* values) { return values; }
SORDINO_HD inline const double* words(const Number* values) { return &values->re; }
SORDINO_HD inline double* words(double* values) { return values; }
SORDINO_HD inline double* words(Number* values) { return &values->re; }

}  // namespace sordino::hmatrix
