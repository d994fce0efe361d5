// Even-odd numbering of a box's sites, for hosts and devices: coordinates are computed, no table of neighbours is read.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino::lattice {

/// Division by a number that is known only at run time, as one multiplication: exact for 0 <= n < 2^31.
struct Divider {
  u32 divisor = 1, shift = 0, multiplier = u32(1) << 31;

  Divider() = default;
  explicit Divider(i32 d) : divisor(u32(d)) {
    while ((u64(1) << shift) < divisor) shift++;
    multiplier = u32(((u64(1) << (31 + shift)) + divisor - 1) / divisor);  // below 2^32, since divisor > 2^(shift - 1)
  }
  /// n / divisor; n becomes the remainder.
  SORDINO_HD i32 divide(i32& n) const {
    i32 q = i32((u64(u32(n)) * multiplier) >> (31 + shift));
    n -= q * i32(divisor);
    return q;
  }
};

struct Checkerboard {
  i32 extent[4] = {};  // all even
  i32 half = 0;        // sites of one parity
  Divider line, row, plane;

  Checkerboard() = default;
  Checkerboard(i32 x, i32 y, i32 z, i32 t) : extent{x, y, z, t}, half(x / 2 * y * z * t), line(x / 2), row(y), plane(z) {}

  /// x and 1 - x are neighbours in their line: which of the two has this parity follows from y, z and t.
  SORDINO_HD void coordinates(int parity, i32 i, i32 (&x)[4]) const {
    i32 y = line.divide(i), z = row.divide(y), t = plane.divide(z);
    x[0] = 2 * i + ((parity + y + z + t) & 1);
    x[1] = y;
    x[2] = z;
    x[3] = t;
  }
  /// A site's number among those of its parity.
  SORDINO_HD i32 number(const i32 (&x)[4]) const {
    return (x[0] + extent[0] * (x[1] + extent[1] * (x[2] + extent[2] * x[3]))) >> 1;
  }
  /// The number of the neighbour ahead (step 1) or behind (step -1) in dimension mu, around the box's edge where it must.
  template <int mu, int step>
  SORDINO_HD i32 neighbour(const i32 (&x)[4]) const {
    i32 y[4] = {x[0], x[1], x[2], x[3]};
    y[mu] += step;
    if (step > 0 && y[mu] == extent[mu]) y[mu] = 0;
    if (step < 0 && y[mu] < 0) y[mu] = extent[mu] - 1;
    return number(y);
  }

  /// The number of a site on a face normal to mu, among the face's sites of its parity. Two sites that face each other across a
  /// cut have the same number, and different parities.
  template <int mu>
  SORDINO_HD i32 face_number(const i32 (&x)[4]) const {
    i32 n = 0;
    for (int d = 3; d >= 0; d--)
      if (d != mu) n = n * extent[d] + x[d];
    return n >> 1;
  }
  /// The site of a parity with this number on the face x[mu] = at.
  template <int mu>
  SORDINO_HD void face_coordinates(i32 at, int parity, i32 n, i32 (&x)[4]) const {
    constexpr int first = mu == 0 ? 1 : 0;  // the fastest of the other dimensions
    i32 halves = extent[first] / 2;
    i32 k = n % halves;
    n /= halves;
    x[mu] = at;
    i32 sum = parity + at;
    for (int d = first + 1; d < 4; d++) {
      if (d == mu) continue;
      x[d] = n % extent[d];
      n /= extent[d];
      sum += x[d];
    }
    x[first] = 2 * k + (sum & 1);
  }
};

}  // namespace sordino::lattice
