// Boxes around points, and what trees ask of them: on hosts and devices the same bits, for both make trees.
#pragma once
#include <cmath>

#include "sordino/base/types.hpp"

namespace sordino::hmatrix {

/// A box with sides along the axes.
struct Box {
  double lower[3], upper[3];

  SORDINO_HD double side(int axis) const { return upper[axis] - lower[axis]; }
  /// The first of the longest.
  SORDINO_HD int longest_axis() const {
    int longest = 0;
    for (int axis = 1; axis < 3; axis++)
      if (side(axis) > side(longest)) longest = axis;
    return longest;
  }
  /// Its diagonal.
  SORDINO_HD double diameter() const { return length(side(0), side(1), side(2)); }
  /// Between the nearest points of two boxes; 0 where they touch.
  SORDINO_HD double distance(const Box& other) const { return length(gap(other, 0), gap(other, 1), gap(other, 2)); }

 private:
  SORDINO_HD double gap(const Box& other, int axis) const {
    const double above = lower[axis] - other.upper[axis], below = other.lower[axis] - upper[axis];
    const double larger = above < below ? below : above;
    return larger > 0 ? larger : 0;
  }
  /// Of a vector without negative parts. Parts of the largest one are squared: no square overflows, or is lost. Products are
  /// not to be fused with sums, or devices would find others.
  SORDINO_HD static double length(double x, double y, double z) {
    const double larger = x < y ? y : x, largest = larger < z ? z : larger;
    if (!(largest > 0)) return 0;
    const double a = x / largest, b = y / largest, c = z / largest;
    return largest * std::sqrt(a * a + b * b + c * c);
  }
};

/// How a cluster is cut: points whose coordinate along the axis is at most the middle come first.
struct Cut {
  int axis = -1;  // -1: it is not
  double middle = 0;

  SORDINO_HD bool takes_first(const double* point) const { return point[axis] <= middle; }
};

/// In the middle of the longest side, if it has more than `most` points and they are not all at one place.
SORDINO_HD inline Cut cut_of(const Box& box, i32 points, i32 most) {
  const int axis = box.longest_axis();
  if (points <= most || !(box.side(axis) > 0)) return {};
  return {axis, 0.5 * (box.lower[axis] + box.upper[axis])};
}

}  // namespace sordino::hmatrix
