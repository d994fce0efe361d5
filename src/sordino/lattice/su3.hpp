// Colour vectors and SU(3) links, for hosts and devices. T: float, double or long double.
#pragma once
#include "sordino/base/complex.hpp"

namespace sordino::lattice {

using sordino::Complex;
using sordino::conj;

/// a + i^phase b. No multiplication.
template <int phase, class T>
SORDINO_HD Complex<T> add_rotated(Complex<T> a, Complex<T> b) {
  if constexpr (phase % 4 == 0) return {a.re + b.re, a.im + b.im};
  if constexpr (phase % 4 == 1) return {a.re - b.im, a.im + b.re};
  if constexpr (phase % 4 == 2) return {a.re - b.re, a.im - b.im};
  if constexpr (phase % 4 == 3) return {a.re + b.im, a.im - b.re};
}

template <class T>
struct ColorVector {
  Complex<T> c[3];
};

/// A 3x3 matrix, rows first; a link if it is unitary with determinant 1 (or -1, where a boundary changes the sign).
template <class T>
struct Su3 {
  Complex<T> e[3][3];
};

/// U v. 66 flops.
template <class T>
SORDINO_HD ColorVector<T> operator*(const Su3<T>& U, const ColorVector<T>& v) {
  ColorVector<T> w;
  for (int i = 0; i < 3; i++) w.c[i] = U.e[i][0] * v.c[0] + U.e[i][1] * v.c[1] + U.e[i][2] * v.c[2];
  return w;
}

/// U^dagger v. 66 flops.
template <class T>
SORDINO_HD ColorVector<T> adjoint_times(const Su3<T>& U, const ColorVector<T>& v) {
  ColorVector<T> w;
  for (int i = 0; i < 3; i++) w.c[i] = conj(U.e[0][i]) * v.c[0] + conj(U.e[1][i]) * v.c[1] + conj(U.e[2][i]) * v.c[2];
  return w;
}

template <class T>
SORDINO_HD Su3<T> operator*(const Su3<T>& A, const Su3<T>& B) {
  Su3<T> C;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) C.e[i][j] = A.e[i][0] * B.e[0][j] + A.e[i][1] * B.e[1][j] + A.e[i][2] * B.e[2][j];
  return C;
}

template <class T>
SORDINO_HD Su3<T> adjoint(const Su3<T>& A) {
  Su3<T> B;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) B.e[i][j] = conj(A.e[j][i]);
  return B;
}

template <class T>
SORDINO_HD Su3<T> identity() {
  Su3<T> U;
  for (int i = 0; i < 3; i++) U.e[i][i].re = 1;
  return U;
}

/// Fills in the third row from the first two: sign times the conjugate of their cross product. `sign` is the determinant: a
/// link -U of an antiperiodic boundary has (-a) x (-b) = a x b, so its third row needs the sign. 42 flops, which no count
/// includes.
template <class T>
SORDINO_HD void complete_rows(Su3<T>& U, T sign) {
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    U.e[2][i] = conj(U.e[0][j] * U.e[1][k] - U.e[0][k] * U.e[1][j]) * sign;
  }
}

template <class To, class From>
SORDINO_HD Su3<To> convert(const Su3<From>& U) {
  Su3<To> V;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) V.e[i][j] = {To(U.e[i][j].re), To(U.e[i][j].im)};
  return V;
}

}  // namespace sordino::lattice
