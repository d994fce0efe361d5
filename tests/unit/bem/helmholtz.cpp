// The single layer potential of Helmholtz' equation: its integrals against a quadrature in other coordinates, and what is known
// of spheres.
#include "sordino/bem/helmholtz.hpp"

#include <complex>
#include <numbers>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/bem/laplace.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/surfaces.hpp"

namespace {

using namespace sordino;
using namespace sordino::bem;
using Wave = std::complex<double>;

constexpr double pi = std::numbers::pi;

/// Two triangles: the first one's centroid looks at the second.
Wave entry(const Point (&corners)[6], double k, i32 row = 0, i32 column = 1) {
  const i64 triangles[] = {0, 1, 2, 3, 4, 5};
  const Helmholtz waves({&corners[0].x, 6, triangles, 2}, k);
  Complex<double> a;
  waves.entries({&row, 1}, {&column, 1}, &a);
  return {a.re, a.im};
}

Point centroid(const Point* c) { return (c[0] + c[1] + c[2]) * (1.0 / 3); }

/// The midpoint rule over a triangle of the three that a point makes with the edges, from it outwards. If it is x's foot the
/// area element vanishes there as r does. `steps` along the edge, and outwards twice as many, denser towards the foot.
Wave over_part(Point x, Point foot, Point a, Point b, Point normal, double k, int steps) {
  const double area2 = dot(cross(a - foot, b - foot), normal);
  Wave sum;
  for (int i = 0; i < 2 * steps; i++) {
    const double w = (i + 0.5) / (2 * steps), u = w * w, du = 2 * w / (2 * steps);
    for (int j = 0; j < steps; j++) {
      const Point y = foot + ((a - foot) + (b - a) * ((j + 0.5) / steps)) * u;
      const double r = length(y - x);
      sum += du * u / steps * std::exp(Wave(0, k * r)) / r;
    }
  }
  return sum * area2 / (4 * pi);
}

/// Richardson's extrapolation of that, from three grids.
Wave reference(Point x, const Point* c, double k) {
  const FlatTriangle t = FlatTriangle::of(c[0], c[1], c[2]);
  const Point below = x + t.normal * dot(t.normal, c[0] - x), foot = length(below - centroid(c)) < 1 ? below : centroid(c);
  Wave rule[3];
  for (int level = 0; level < 3; level++)
    for (int e = 0; e < 3; e++) rule[level] += over_part(x, foot, c[e], c[(e + 1) % 3], t.normal, k, 60 << level);
  const Wave first = (4.0 * rule[1] - rule[0]) / 3.0, second = (4.0 * rule[2] - rule[1]) / 3.0;
  return (16.0 * second - first) / 15.0;
}

}  // namespace

TEST("an entry is the integral over the triangle, of itself, of neighbours, above it and far from it") {
  NOTE(fresh::said());
  fresh::Random random(120);
  auto point = [&](double size) { return Point{random.real(-size, size), random.real(-size, size), random.real(-size, size)}; };
  for (int trial = 0; trial < 12; trial++) {
    Point shift = point(trial % 4 == 0 ? 0.4 : trial % 4 == 1 ? 2 : 6);
    shift.z += shift.z < 0 ? -0.2 : 0.2;  // the rule has no points between a triangle and one just above it
    Point c[6] = {{0, 0, 0}, {1, 0.1, 0}, {0.3, 0.8, 0.1}, {0, 0, 0}, {1.2, 0, 0}, {0.5, 0.9, 0}};
    for (int i = 0; i < 3; i++) c[i] = c[i] + shift;
    for (double k : {0.1, 1.0, 4.0, 12.0}) {
      NOTE("trial ", trial, ", k = ", k, ", centroid at ", shift.x, " ", shift.y, " ", shift.z);
      const Wave exact = reference(centroid(c), c + 3, k);
      CHECK_NEAR(entry(c, k) / exact, Wave(1), 3e-7);
      const Wave own = reference(centroid(c + 3), c + 3, k);
      CHECK_NEAR(entry(c, k, 1, 1) / own, Wave(1), 3e-7);
    }
  }
}

namespace {

/// A triangle in 4^levels equal ones.
void cut(const Point& a, const Point& b, const Point& c, int levels, surfaces::Surface& s) {
  if (levels == 0) {
    const i64 first = i64(s.corners.size()) / 3;
    for (const Point& p : {a, b, c}) s.add(p.x, p.y, p.z);
    return s.add(first, first + 1, first + 2);
  }
  const Point ab = (a + b) * 0.5, bc = (b + c) * 0.5, ca = (c + a) * 0.5;
  cut(a, ab, ca, levels - 1, s);
  cut(ab, b, bc, levels - 1, s);
  cut(ca, bc, c, levels - 1, s);
  cut(ab, bc, ca, levels - 1, s);
}

std::vector<Wave> row_of(const Helmholtz& waves, i32 row) {
  std::vector<i32> all;
  for (i32 j = 0; j < i32(waves.size()); j++) all.push_back(j);
  std::vector<Complex<double>> values(all.size());
  waves.entries({&row, 1}, all, values.data());
  std::vector<Wave> found;
  for (auto a : values) found.emplace_back(a.re, a.im);
  return found;
}

}  // namespace

TEST("an entry is the sum of those of the triangle's 256 parts, to 1e-9") {
  NOTE(fresh::said());
  fresh::Random random(121);
  for (double far : {0.0, 0.3, 0.7, 2.0, 10.0, 300.0})
    for (double k : {1e-3, 0.3, 1.0, 3.0, 10.0, 30.0}) {
      const double z = random.real(-1, 1), phi = random.real(0, 2 * pi), flat = std::sqrt(1 - z * z);
      const Point shift{far * flat * std::cos(phi), far * flat * std::sin(phi), far * z};
      const Point a{0, 0, 0}, b{1, 0.2, 0.1}, c{0.3, 0.7, -0.2};
      surfaces::Surface s;
      cut(a + shift, b + shift, c + shift, 0, s);
      cut(a, b, c, 0, s);
      cut(a, b, c, 4, s);
      const auto row = row_of(Helmholtz(s.view(), k), 0);
      Wave sum;
      for (std::size_t part = 2; part < row.size(); part++) sum += row[part];
      NOTE("k = ", k, ", at ", shift.x, " ", shift.y, " ", shift.z);
      CHECK_NEAR(row[1] / sum, Wave(1), 1e-9);
    }
}

TEST("slivers, and centroids beside an edge, have their digits, too") {
  for (double flat : {0.3, 0.1, 0.03, 0.01})
    for (double k : {0.1, 1.0, 3.0}) {
      const Point a{0, 0, 0}, b{1, 0, 0}, top{0.4, 0.8, 0}, x{0.45, -flat, 0}, e{1e-3, 0, 0}, f{0, 1e-3, 0};
      surfaces::Surface s;
      cut(x - e - f, x + e, x + f, 0, s);
      cut(a, b, top, 0, s);
      cut(a, b, {0.4, flat, 0}, 0, s);
      cut(a, b, top, 4, s);
      cut(a, b, {0.4, flat, 0}, 4, s);
      const Helmholtz waves(s.view(), k);
      const auto from_beside = row_of(waves, 0), from_sliver = row_of(waves, 2);
      Wave beside, sliver;
      for (std::size_t part = 0; part < 256; part++) {
        beside += from_beside[3 + part];
        sliver += from_sliver[3 + 256 + part];
      }
      NOTE("k = ", k, ", ", flat, " beside or high");
      CHECK_NEAR(from_beside[1] / beside, Wave(1), 1e-9);
      CHECK_NEAR(from_sliver[2] / sliver, Wave(1), 1e-9);
    }
}

TEST("a sphere of constant density has the potential sin(kR) e^{ikR} / k on it, to O(h^2)") {
  const double R = 2;
  for (double k : {0.01, 0.5, 1.7}) {
    const Wave exact = std::sin(k * R) * std::exp(Wave(0, k * R)) / k;
    double last = 1;
    for (int M : {6, 12, 24}) {
      const Helmholtz waves(surfaces::sphere(6, M, R).view(), k);
      double worst = 0;
      for (i32 i : {0, i32(waves.size()) / 3, i32(waves.size()) / 2}) {
        Wave sum;
        for (Wave a : row_of(waves, i)) sum += a;
        worst = std::max(worst, std::abs(sum / exact - 1.0));
      }
      NOTE("k = ", k, ", M = ", M);
      CHECK(worst < 0.4 * last);
      last = worst;
    }
    CHECK(last < 1e-2);
  }
}

TEST("k = 0 is Laplace's kernel to the bit, and a small k differs by i k / (4 pi) times the area") {
  const auto sphere = surfaces::sphere(4, 5, 1.0);
  const Laplace laplace(sphere.view());
  const Triangles triangles(sphere.view());
  constexpr double k = 1e-7;
  const Helmholtz still(sphere.view(), 0), slow(sphere.view(), k);
  std::vector<i32> all;
  for (i32 j = 0; j < i32(still.size()); j++) all.push_back(j);
  std::vector<double> volts(all.size());
  for (i32 i : {0, 17, 61}) {
    laplace.entries({&i, 1}, all, volts.data());
    const auto at_rest = row_of(still, i), moved = row_of(slow, i);
    for (std::size_t j = 0; j < all.size(); j++) {
      CHECK_NEAR(at_rest[j].real(), volts[j] * vacuum_permittivity, 4e-16 * at_rest[j].real());
      CHECK(at_rest[j].imag() == 0);
      CHECK_NEAR(moved[j].real(), at_rest[j].real(), 1e-13 * at_rest[j].real());
      CHECK_NEAR(moved[j].imag() / k, triangles.all[j].area / (4 * pi), 1e-9 * triangles.all[j].area);
    }
  }
}

TEST("far triangles see each other alike: an entry over the area it is integrated over is that of the other way") {
  const auto sphere = surfaces::sphere(6, 12, 1.0);
  const Triangles triangles(sphere.view());
  const Helmholtz waves(sphere.view(), 2.0);
  const std::size_t n = triangles.all.size();
  const auto here = row_of(waves, 0), there = row_of(waves, i32(n) - 1);
  CHECK_NEAR(here[n - 1] / triangles.all[n - 1].area / (there[0] / triangles.all[0].area), Wave(1), 1e-3);
}

TEST("wavenumbers that are none, and waves shorter than a sixth of an edge, are refused with a sentence") {
  const auto sphere = surfaces::sphere(4, 5, 1.0);
  auto made = [&](double k) { return Helmholtz(sphere.view(), k).size(); };
  for (double k : {-1.0, std::nan(""), HUGE_VAL}) CHECK_THROWS(made(k), Error, "wavenumber is a finite number, at least 0");
  CHECK_THROWS(made(1e4), Error, "more than six wavelengths");
  CHECK(made(0) == sphere.size());
  CHECK_THROWS(Helmholtz({}, 1), Error, "no triangles");
}
