#include "sordino/bem/wave_integral.hpp"

#include <algorithm>
#include <limits>
#include <numbers>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino::bem {
namespace {

constexpr double tolerance = 5e-9;  // of what is an upper bound: errors are below 1e-9

/// What n points miss of an edge's integral, relative to the triangle's. In the edge's own coordinate, -1 to 1, r has its
/// branch points on the ellipse with foci there whose half axes' sum is rho, their mean `detour`; inside of it e^{ikr} grows as
/// e^{phase Im}. The rule's error is that of the ellipse on which the bound is smallest. The edges' integrals cancel, the more
/// the further away x is.
double missed(int n, double phase, double detour) {
  const double rho = detour + std::sqrt(detour * detour - 1), best = std::max(4 * n / phase, 1.5);
  auto bound = [=](double on) { return std::exp(0.5 * phase * (on - 1 / on)) * std::pow(on, -2 * n); };
  const double singular = detour * std::min(1.0, phase * detour * phase * detour);
  if (rho < best) return singular * bound(rho);
  return (1 + 0.5 / phase) * bound(best) + singular * std::pow(rho, -2 * n);
}

/// The smallest detour for which n points are enough; infinite: they never are.
double least_detour(int n, double phase) {
  constexpr double infinite = std::numeric_limits<double>::infinity(), far = 1e9;
  if (!(phase > 0)) return far;
  if (missed(n, phase, far) > tolerance) return infinite;
  double near = 1, enough = far;  // bisection, of the logarithm
  for (int step = 0; step < 50; step++) {
    const double middle = std::sqrt(near * enough);
    (missed(n, phase, middle) > tolerance ? near : enough) = middle;
  }
  return enough;
}

struct Zero {
  double at, slope;
};

/// Of Legendre's polynomial of degree n: number i, by Newton's method.
Zero zero_of_legendre(int n, int i) {
  double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1;
  for (int step = 0; step < 8; step++) {
    double p = 1, before = 0;
    for (int l = 1; l <= n; l++) {
      const double next = ((2 * l - 1) * x * p - (l - 1) * before) / l;
      before = p;
      p = next;
    }
    slope = n * (x * p - before) / (x * x - 1);
    x -= p / slope;
  }
  return {x, slope};
}

}  // namespace

WaveIntegral::WaveIntegral(double wavenumber, double longest) : k_(wavenumber) {
  const double phase = 0.5 * wavenumber * longest;
  least_detour_[0] = std::numeric_limits<double>::infinity();
  for (int n = 1; n <= most_points; n++) {
    for (int i = 0; i < n; i++) {
      const auto [x, slope] = zero_of_legendre(n, i);
      nodes_[first_node(n) + i] = {x, 2 / ((1 - x * x) * slope * slope)};
    }
    least_detour_[n] = least_detour(n, phase);
  }
  if (std::isinf(least_detour_[most_points]))
    bad_argument("the longest edge, of " + std::to_string(longest) + ", has more than six wavelengths: take a finer surface");
}

}  // namespace sordino::bem
