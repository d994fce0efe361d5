// With rho the distance from the foot of x in the triangle's plane and h that of the foot from x, r^2 = rho^2 + h^2, and
//
//   g(r) = 1/rho^2 (integral of e^{ikt} dt from h to r) = e^{ikm} sinc(ks) / (r + h),   m = (r + h)/2,  s = (r - h)/2,
//
// is what the field g(r) (rho_x, rho_y) has the divergence e^{ikr} / r of. So the integral over the triangle is one over its
// edges, each with the distance `off` of its line from the foot:  sum over e of off_e (integral of g along e). k = 0 is the
// potential in closed form, which has what is singular; what is left, (e^{ikm} sinc(ks) - 1) / (r + h), is left to Gauss.
#include "sordino/bem/helmholtz.hpp"

#include <algorithm>
#include <limits>
#include <numbers>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino::bem {
namespace {

constexpr int most_points = 32;
constexpr double tolerance = 5e-9;  // of what is an upper bound: errors are below 1e-9

/// The zeros of Legendre's polynomial of degree n by Newton's method, and the weights that belong to them.
std::vector<EdgeRules::Point> gauss(int n) {
  std::vector<EdgeRules::Point> rule;
  for (int i = 0; i < n; i++) {
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
    rule.push_back({x, 2 / ((1 - x * x) * slope * slope)});
  }
  return rule;
}

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

}  // namespace

EdgeRules::EdgeRules(double wavenumber, double longest) {
  const double phase = 0.5 * wavenumber * longest;
  constexpr double far = 1e9;
  for (int n = 0; n <= most_points; n++) {
    rules_.push_back(gauss(n));
    double near = 1, enough = far;  // bisection, of the logarithm
    if (phase > 0 && n > 0 && missed(n, phase, far) > tolerance) near = enough = std::numeric_limits<double>::infinity();
    for (int step = 0; step < 50 && phase > 0 && n > 0 && enough < 2 * far; step++) {
      const double middle = std::sqrt(near * enough);
      (missed(n, phase, middle) > tolerance ? near : enough) = middle;
    }
    least_detour_.push_back(enough);
  }
  if (least_detour_.back() > far)
    bad_argument("the longest edge, of " + std::to_string(longest) + ", has more than six wavelengths: take a finer surface");
}

namespace {

double checked(double wavenumber) {
  if (!(wavenumber >= 0) || !std::isfinite(wavenumber)) bad_argument("wavenumber is a finite number, at least 0");
  return wavenumber;
}

double longest_edge(const Triangles& triangles) {
  double longest = 0;
  for (const FlatTriangle& t : triangles.all) longest = std::max({longest, t.side[0], t.side[1], t.side[2]});
  return longest;
}

double sinc(double x) { return x > 0 ? std::sin(x) / x : 1; }

}  // namespace

Helmholtz::Helmholtz(const SurfaceView& surface, double wavenumber)
    : triangles_(surface), k_(checked(wavenumber)), rules_(k_, longest_edge(triangles_)) {}

void Helmholtz::entries(std::span<const i32> rows, std::span<const i32> columns, Complex<double>* out) const {
  constexpr double scale = 1 / (4 * std::numbers::pi);
  for (i32 i : rows)
    for (i32 j : columns) *out++ = integral(triangles_.all[std::size_t(j)], triangles_.centroids[std::size_t(i)]) * scale;
}

/// x as an edge sees it: its distance from the triangle's plane, and there from the edge's line. Places on that are counted
/// from the foot, of a part of it from its middle, so that no digits are lost far away.
struct Helmholtz::Foot {
  double off, height;

  /// The way by the ends of a part of the line over its length.
  double detour(double middle, double half) const {
    const double q2 = off * off + height * height, begin = middle - half, end = middle + half;
    return 0.5 * (std::sqrt(q2 + begin * begin) + std::sqrt(q2 + end * end)) / half;
  }
};

Complex<double> Helmholtz::integral(const FlatTriangle& t, Point x) const {
  Complex<double> sum{t.potential(x), 0};
  if (k_ == 0) return sum;
  const double height = std::abs(dot(t.normal, t.corner[0] - x));
  for (int e = 0; e < 3; e++) sum = sum + over_edge(t, e, x, height);
  return sum;
}

// An edge that x lies beside is cut at its foot, where r is hardly smooth.
Complex<double> Helmholtz::over_edge(const FlatTriangle& t, int e, Point x, double height) const {
  const Point to_begin = t.corner[e] - x;
  const double begin = dot(cross(t.normal, t.outward[e]), to_begin), half = 0.5 * t.side[e], end = begin + t.side[e];
  const Foot foot{dot(t.outward[e], to_begin), height};
  if (foot.off == 0) return {};
  const bool beside = begin < 0 && end > 0 && foot.detour(begin + half, half) < 1.15;
  const auto sum = beside ? over_part(foot, 0.5 * begin, -0.5 * begin) + over_part(foot, 0.5 * end, 0.5 * end)
                          : over_part(foot, begin + half, half);
  return sum * foot.off;
}

Complex<double> Helmholtz::over_part(const Foot& foot, double middle, double half) const {
  Complex<double> sum;
  for (auto [at, weight] : rules_.seen(foot.detour(middle, half))) {
    const double along = middle + half * at, rho2 = foot.off * foot.off + along * along;
    const double both = std::sqrt(rho2 + foot.height * foot.height) + foot.height;  // r + h
    const double m = 0.5 * k_ * both, s = sinc(0.5 * k_ * rho2 / both), share = weight / both;
    sum = sum + Complex<double>{share * (s * std::cos(m) - 1), share * s * std::sin(m)};
  }
  return sum * half;
}

}  // namespace sordino::bem
