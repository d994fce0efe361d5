// What entries of an H-matrix may be, real or complex numbers, and what is said of both in the same words.
#pragma once
#include <cmath>
#include <type_traits>

#include "sordino/base/complex.hpp"
#include "sordino/base/several.hpp"

namespace sordino::hmatrix {

using Number = Complex<double>;

/// Doubles that a value is: of a vector there are as many for each row.
template <class V>
inline constexpr int words_of = int(sizeof(V) / sizeof(double));

/// A row of one vector or of several, which lie interleaved, [rows][C].
template <class V, int C>
using RowOf = std::conditional_t<C == 1, V, Several<V, C>>;

/// Vectors that a product takes at once, the most; less are 4, 2 or 1.
inline constexpr int most_columns = 8;

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
template <class V, int C>
SORDINO_HD const double* words(const Several<V, C>* rows) {
  return words(rows->at);
}
template <class V, int C>
SORDINO_HD double* words(Several<V, C>* rows) {
  return words(rows->at);
}

}  // namespace sordino::hmatrix
