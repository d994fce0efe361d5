#include "sordino/lattice/gauge.hpp"

#include <cmath>
#include <numbers>

namespace sordino::lattice {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection that spreads each bit over all others.
u64 mixed(u64 z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Normal deviates of one (seed, site, direction): a counter-based generator, that is, a hash of what is asked for.
class Normals {
 public:
  Normals(u64 seed, i64 site, int direction) : key_(mixed(mixed(seed + gamma) + u64(site) * 8 + u64(direction))) {}

  Complex<double> next() {  // Box and Muller
    double r = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    return {r * std::cos(angle), r * std::sin(angle)};
  }

 private:
  static constexpr u64 gamma = 0x9e3779b97f4a7c15u;
  double uniform() { return (double(mixed(key_ + gamma * ++count_) >> 11) + 0.5) * 0x1p-53; }
  u64 key_, count_ = 0;
};

double norm2(const Complex<double> (&v)[3]) {
  double sum = 0;
  for (auto& z : v) sum += z.re * z.re + z.im * z.im;
  return sum;
}

void normalize(Complex<double> (&v)[3]) {
  double scale = 1 / std::sqrt(norm2(v));
  for (auto& z : v) z = z * scale;
}

/// The SU(3) matrix that Gram and Schmidt make of the first two rows; the determinant fixes the third.
Su3<double> unitary(Su3<double> U) {
  normalize(U.e[0]);
  Complex<double> overlap;
  for (int j = 0; j < 3; j++) overlap = overlap + conj(U.e[0][j]) * U.e[1][j];
  for (int j = 0; j < 3; j++) U.e[1][j] = U.e[1][j] - U.e[0][j] * overlap;
  normalize(U.e[1]);
  complete_rows(U, 1.0);
  return U;
}

/// Rows of normal entries made orthonormal are uniform over the unitary matrices.
Su3<double> uniform_su3(Normals normals) {
  Su3<double> U;
  for (int i = 0; i < 2; i++)
    for (auto& z : U.e[i]) z = normals.next();
  return unitary(U);
}

/// i epsilon H.
Su3<double> small_algebra_element(Normals normals, double epsilon) {
  Su3<double> A;
  double trace = 0;
  for (int i = 0; i < 3; i++) {
    double h = normals.next().re;
    A.e[i][i].im = h;
    trace += h;
    for (int j = i + 1; j < 3; j++) {
      A.e[i][j] = normals.next() * std::sqrt(0.5);
      A.e[j][i] = conj(A.e[i][j]) * -1.0;
    }
  }
  for (int i = 0; i < 3; i++) A.e[i][i].im -= trace / 3;
  for (auto& row : A.e)
    for (auto& z : row) z = z * epsilon;
  return A;
}

/// By its series at A / 2^k, squared k times.
Su3<double> exponential(const Su3<double>& A) {
  double size = 0;
  for (auto& row : A.e) size += norm2(row);
  int squarings = 0;
  for (; size > 0.01; size /= 4) squarings++;
  auto term = identity<double>(), sum = term;
  for (int n = 1; n <= 10; n++) {
    term = term * A;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        term.e[i][j] = term.e[i][j] * (std::ldexp(1, -squarings) / n);
        sum.e[i][j] = sum.e[i][j] + term.e[i][j];
      }
  }
  for (int k = 0; k < squarings; k++) sum = sum * sum;
  return sum;
}

}  // namespace

Links unit_links() {
  return [](const Coords&, int) { return identity<double>(); };
}

Links random_links(const Lattice& lattice, u64 seed) {
  return [=](const Coords& x, int mu) { return uniform_su3({seed, lattice.number(x), mu}); };
}

Links warm_links(const Lattice& lattice, u64 seed, double epsilon) {
  return [=](const Coords& x, int mu) {
    return unitary(exponential(small_algebra_element({seed, lattice.number(x), mu}, epsilon)));  // but for rounding, it is
  };
}

std::function<Su3<double>(const Coords&)> random_rotation(const Lattice& lattice, u64 seed) {
  return [=](const Coords& x) { return uniform_su3({seed, lattice.number(x), 4}); };
}

Source random_source(const Lattice& lattice, u64 seed) {
  return [=](const Coords& x) {
    Normals normals(seed, lattice.number(x), 5);
    Spinor<double> psi;
    for (auto& s : psi.s)
      for (auto& z : s.c) z = normals.next();
    return psi;
  };
}

}  // namespace sordino::lattice
