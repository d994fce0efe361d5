// Spinors, and the projection trick of the Wilson operator.
//
// Gamma matrices in the DeGrand-Rossi basis (mu = 0..3 is x, y, z, t), gamma_5 = gamma_x gamma_y gamma_z gamma_t =
// diag(1,1,-1,-1):
//
//   gamma_mu = (  0     B_mu )    B_x = ( 0 i )   B_y = ( 0 -1 )   B_z = ( i  0 )   B_t = ( 1 0 )
//              ( B_mu^+  0   )          ( i 0 )         ( 1  0 )         ( 0 -i )         ( 0 1 )
//
// Each B is unitary, so (1 + s gamma_mu) psi, s = +-1, has rank two: with upper and lower halves u and l of psi,
// h = u + s B l is its upper half, and s B^+ h its lower one. Only h is multiplied by links and travels between ranks.
#pragma once
#include "sordino/lattice/su3.hpp"

namespace sordino::lattice {

template <class T>
struct HalfSpinor {
  ColorVector<T> s[2];
};

template <class T>
struct Spinor {
  ColorVector<T> s[4];
};

/// Where row `row` of B_mu has its only entry, i^phase.
struct GammaEntry {
  int column, phase;
};
SORDINO_HD constexpr GammaEntry upper_gamma(int mu, int row) {
  switch (mu) {
    case 0: return {1 - row, 1};
    case 1: return {1 - row, row == 0 ? 2 : 0};
    case 2: return {row, row == 0 ? 1 : 3};
    default: return {row, 0};
  }
}

namespace detail {

template <int mu, int sign, int row, class T>
SORDINO_HD void project_row(const Spinor<T>& psi, HalfSpinor<T>& h) {
  constexpr GammaEntry b = upper_gamma(mu, row);
  constexpr int phase = b.phase + (sign < 0 ? 2 : 0);
  for (int a = 0; a < 3; a++) h.s[row].c[a] = add_rotated<phase>(psi.s[row].c[a], psi.s[2 + b.column].c[a]);
}

// Row `row` of B gives column `row` of B^+, with the conjugate entry.
template <int mu, int sign, int row, class T>
SORDINO_HD void reconstruct_row(const HalfSpinor<T>& h, Spinor<T>& sum) {
  constexpr GammaEntry b = upper_gamma(mu, row);
  constexpr int phase = 4 - b.phase + (sign < 0 ? 2 : 0);
  for (int a = 0; a < 3; a++) {
    sum.s[row].c[a] = sum.s[row].c[a] + h.s[row].c[a];
    sum.s[2 + b.column].c[a] = add_rotated<phase>(sum.s[2 + b.column].c[a], h.s[row].c[a]);
  }
}

}  // namespace detail

/// The upper half of (1 + sign gamma_mu) psi. 12 flops.
template <int mu, int sign, class T>
SORDINO_HD HalfSpinor<T> project(const Spinor<T>& psi) {
  HalfSpinor<T> h;
  detail::project_row<mu, sign, 0>(psi, h);
  detail::project_row<mu, sign, 1>(psi, h);
  return h;
}

/// sum += (1 + sign gamma_mu) psi, from its upper half. 24 flops.
template <int mu, int sign, class T>
SORDINO_HD void reconstruct(const HalfSpinor<T>& h, Spinor<T>& sum) {
  detail::reconstruct_row<mu, sign, 0>(h, sum);
  detail::reconstruct_row<mu, sign, 1>(h, sum);
}

/// U h and U^dagger h. 132 flops each.
template <class T>
SORDINO_HD HalfSpinor<T> operator*(const Su3<T>& U, const HalfSpinor<T>& h) {
  return {{U * h.s[0], U * h.s[1]}};
}
template <class T>
SORDINO_HD HalfSpinor<T> adjoint_times(const Su3<T>& U, const HalfSpinor<T>& h) {
  return {{adjoint_times(U, h.s[0]), adjoint_times(U, h.s[1])}};
}

template <class To, class From>
SORDINO_HD Spinor<To> convert(const Spinor<From>& psi) {
  Spinor<To> r;
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) r.s[s].c[c] = {To(psi.s[s].c[c].re), To(psi.s[s].c[c].im)};
  return r;
}

}  // namespace sordino::lattice
