// The Wilson operator as it is written down, serial and in long double: what everything else is compared with.
#pragma once
#include <complex>
#include <vector>

#include "sordino/lattice/gauge.hpp"

namespace sordino::lattice {

class WilsonReference {
 public:
  using Number = std::complex<long double>;
  using Field = std::vector<Number>;  // [site, lexicographic][4 spins][3 colours]

  WilsonReference(const Lattice& lattice, const Links& links);

  /// D psi (x) = sum over mu of (1 - gamma_mu) U_mu(x) psi(x + mu) + (1 + gamma_mu) U_mu(x - mu)^dagger psi(x - mu).
  /// Full 4x4 and 3x3 matrices, no projection: about 3,000 complex multiplications a site.
  Field hop(const Field& psi) const;
  /// M psi = psi - kappa D psi.
  Field apply(const Field& psi, long double kappa) const;

  const Lattice& lattice() const { return lattice_; }
  static const Number (&gamma(int mu))[4][4];  // mu = 0..3, and 4 for gamma_5
  static Field gamma5(Field psi);
  Field field(const Source& source) const;
  Coords coordinates(i64 site) const;

 private:
  struct Neighbour {
    i64 site;
    long double sign;  // of the boundary
  };
  Neighbour neighbour(const Coords& x, int mu, int step) const;

  Lattice lattice_;
  std::vector<std::array<Number, 9>> links_;  // [site][mu]
};

}  // namespace sordino::lattice
