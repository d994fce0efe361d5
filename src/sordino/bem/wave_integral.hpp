// The integral of e^{ikr} / r over a flat triangle, for the host and for GPUs. With rho the distance from the foot of x in the
// triangle's plane and h that of the foot from x, r^2 = rho^2 + h^2, and
//
//   g(r) = 1/rho^2 (integral of e^{ikt} dt from h to r) = e^{ikm} sinc(ks) / (r + h),   m = (r + h)/2,  s = (r - h)/2,
//
// is what the field g(r) (rho_x, rho_y) has the divergence e^{ikr} / r of. So the integral over the triangle is one over its
// edges, each with the distance `off` of its line from the foot:  sum over e of off_e (integral of g along e). k = 0 is the
// potential in closed form, which has what is singular; what is left, (e^{ikm} sinc(ks) - 1) / (r + h), is left to Gauss.
#pragma once
#include "sordino/base/complex.hpp"
#include "sordino/bem/flat_triangle.hpp"

namespace sordino::bem {

/// For one wavenumber, on triangles of a size: Gauss and Legendre's rules, and which of them the waves need. 8.7 KiB without
/// pointers, so that a device gets it as it is.
class WaveIntegral {
 public:
  /// For a finite wavenumber of 0 or more, and edges up to the longest one. Throws bad_argument where that has more than six
  /// wavelengths.
  WaveIntegral(double wavenumber, double longest);

  /// Over y in the triangle of e^{ik|x - y|} / |x - y|, x anywhere. The potential, and for each edge one to 32 square roots and
  /// three times as many sines and cosines; twice that where x lies close beside it.
  SORDINO_HD Complex<double> operator()(const FlatTriangle& t, Point x) const {
    Complex<double> sum{t.potential(x), 0};
    if (k_ == 0) return sum;
    const double height = fabs(dot(t.normal, t.corner[0] - x));
    for (int e = 0; e < 3; e++) sum = sum + over_edge(t, e, x, height);
    return sum;
  }

 private:
  static constexpr int most_points = 32;
  struct Node {
    double at, weight;  // in [-1, 1]
  };
  /// x as an edge sees it: its distance from the triangle's plane, and there from the edge's line. Places on that are counted
  /// from the foot, of a part of it from its middle, so that no digits are lost far away.
  struct Foot {
    double off, height;

    /// The way by the ends of a part of the line over its length.
    SORDINO_HD double detour(double middle, double half) const {
      const double q2 = off * off + height * height, begin = middle - half, end = middle + half;
      return 0.5 * (sqrt(q2 + begin * begin) + sqrt(q2 + end * end)) / half;
    }
  };

  /// An edge that x lies beside is cut at its foot, where r is hardly smooth.
  SORDINO_HD Complex<double> over_edge(const FlatTriangle& t, int e, Point x, double height) const {
    const Point to_begin = t.corner[e] - x;
    const double begin = dot(cross(t.normal, t.outward[e]), to_begin), half = 0.5 * t.side[e], end = begin + t.side[e];
    const Foot foot{dot(t.outward[e], to_begin), height};
    if (foot.off == 0) return {};
    const bool beside = begin < 0 && end > 0 && foot.detour(begin + half, half) < 1.15;
    const auto sum = beside ? over_part(foot, 0.5 * begin, -0.5 * begin) + over_part(foot, 0.5 * end, 0.5 * end)
                            : over_part(foot, begin + half, half);
    return sum * foot.off;
  }

  /// In memory once, however many edges there are: GPUs wait for instructions that are copied.
  [[gnu::noinline]] SORDINO_HD Complex<double> over_part(Foot foot, double middle, double half) const {
    Complex<double> sum;
    const int n = points_for(foot.detour(middle, half));
    const Node* const rule = nodes_ + first_node(n);
    for (int i = 0; i < n; i++) {
      const double along = middle + half * rule[i].at, rho2 = foot.off * foot.off + along * along;
      const double both = sqrt(rho2 + foot.height * foot.height) + foot.height;  // r + h
      const double m = 0.5 * k_ * both, s = sinc(0.5 * k_ * rho2 / both), share = rule[i].weight / both;
      sum = sum + Complex<double>{share * (s * cos(m) - 1), share * s * sin(m)};
    }
    return sum * half;
  }

  SORDINO_HD static double sinc(double x) { return x > 0 ? sin(x) / x : 1; }
  SORDINO_HD static int first_node(int n) { return n * (n - 1) / 2; }  // of the rule with n points
  /// For an edge that is seen under `detour`.
  SORDINO_HD int points_for(double detour) const {
    int n = 1;
    while (n < most_points && detour < least_detour_[n]) n++;
    return n;
  }

  double k_;
  Node nodes_[most_points * (most_points + 1) / 2];  // the rules, one after the other
  double least_detour_[most_points + 1];             // for which so many points are enough
};

}  // namespace sordino::bem
