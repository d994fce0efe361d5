// Complex numbers for hosts and devices: a pair of words, which std::complex is not in device code. T: float, double or long
// double.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino {

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re = 0, im = 0;

  SORDINO_HD Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
  SORDINO_HD Complex operator-(Complex o) const { return {re - o.re, im - o.im}; }
  SORDINO_HD Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  SORDINO_HD Complex operator*(T a) const { return {re * a, im * a}; }
};

template <class T>
SORDINO_HD Complex<T> conj(Complex<T> a) {
  return {a.re, -a.im};
}

template <class T>
SORDINO_HD T norm(Complex<T> a) {  // |a|^2
  return a.re * a.re + a.im * a.im;
}

/// a / b, and 0 where b is 0. The larger part of b is divided out first, so that |b|^2 neither vanishes nor overflows.
template <class T>
SORDINO_HD Complex<T> ratio(Complex<T> a, Complex<T> b) {
  T re = b.re < 0 ? -b.re : b.re, im = b.im < 0 ? -b.im : b.im, larger = re > im ? re : im;
  if (larger == 0) return {};
  b = {b.re / larger, b.im / larger};
  T divisor = norm(b) * larger;
  a = a * conj(b);
  return {a.re / divisor, a.im / divisor};
}

}  // namespace sordino
