// The small dense algebra of GMRES: coefficients of Gram-Schmidt in two passes, of which the second one comes a step later
// (gmres.hpp), and the least-squares problem with the Hessenberg matrix that they make. Every rank solves it for itself, with
// the same bits; columns and steps count from 0. V is the value of a vector's row, double or Number; lengths, and what is below
// the diagonal of H, are real.
#pragma once
#include <cmath>

#include "sordino/hmatrix/values.hpp"
#include "sordino/solvers/gram.hpp"

namespace sordino::hessenberg {

using hmatrix::conjugate, hmatrix::real_part, hmatrix::squared;
template <class V>
using SmallOf = Foreign<const V, Access::read>;
template <class V>
using SmallOutOf = Foreign<V, Access::update>;
constexpr double eps = 0x1p-52, rounding = 64 * eps;

/// What commands on rows make their vectors with, as it lies in a small vector.
template <class T>
struct WeightsOf {
  int m;
  T* p;
  static i32 length(int m) { return 4 * m + 5; }
  SORDINO_HD T& inverse() const { return p[0]; }            // 1 / alpha; 0 where u has no digits left
  SORDINO_HD T* of_q() const { return p + 1; }              // [m] s / alpha
  SORDINO_HD T* of_next() const { return of_q() + m; }      // [m + 1] h
  SORDINO_HD T* of_x() const { return of_next() + m + 1; }  // [m + 1], of V or Z, and of M^-1 u at last
  SORDINO_HD T* of_r() const { return of_x() + m + 1; }     // [m + 2], of V and q, and of u_new at last
};

/// a / b.
SORDINO_HD inline double over(double a, double b) { return a / b; }
SORDINO_HD inline hmatrix::Number over(hmatrix::Number a, double b) { return {a.re / b, a.im / b}; }

/// The problem min ||beta e_1 - H y|| of a cycle, by rotations that make an upper triangle R of H, whose diagonal is real.
/// Columns count from 0.
template <class V>
struct LeastSquares {
  int m = 0;
  bool keeps_z = false;  // x is made of Z, and else of V
  SmallOutOf<V> all, weights;
  static i32 length(int m) { return 2 * m * m + 5 * m + 4; }
  SORDINO_HD V* R(int j) const { return all.p + j * m; }        // column j
  SORDINO_HD V* S(int j) const { return all.p + (m + j) * m; }  // column j: s / alpha
  SORDINO_HD V* turns() const { return all.p + 2 * m * m; }     // [m][2] cosines, and sines, which are real
  SORDINO_HD V* g() const { return turns() + 2 * m; }           // [m]
  SORDINO_HD V* in_x() const { return g() + m; }                // [m] what x has of y already
  SORDINO_HD V* column() const { return in_x() + m; }           // [m + 1] the last of H, not turned
  SORDINO_HD V& gamma() const { return column()[m + 1]; }       // what beta e_1 has in its row; real, as the next two
  SORDINO_HD V& before() const { return column()[m + 2]; }      // (w,w) / alpha^2 of the step before
  SORDINO_HD V& first() const { return column()[m + 3]; }       // (r,r) where the cycle began
  SORDINO_HD WeightsOf<V> made_with() const { return {m, weights.p}; }
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(all);
    visit(weights);
  }

  static constexpr double dependent = 1e-12;  // what rounding leaves in R's diagonal where there should be nothing

  /// Turns the last column, j; returns what then is below g_j. One that depends on those before it, as a singular matrix has
  /// it, is left out, and takes nothing away.
  SORDINO_HD double turn(int j) const {
    V *r = R(j), last = column()[0];
    double above = 0;
    for (int i = 0; i < j; i++) {
      const V c = turns()[2 * i], below = column()[i + 1];
      const double s = real_part(turns()[2 * i + 1]);
      r[i] = conjugate(c) * last + below * s;
      last = c * below - last * s;
      above += squared(r[i]);
    }
    const double below = real_part(column()[j + 1]), norm = std::sqrt(squared(last) + below * below);
    const bool none = norm <= dependent * std::sqrt(above);
    const V c = none ? V{0} : over(last, norm);
    const double s = none ? 1 : below / norm, left = real_part(gamma());
    r[j] = V{none ? 0 : norm};
    turns()[2 * j] = c;
    turns()[2 * j + 1] = V{s};
    g()[j] = conjugate(c) * left;
    return -s * left;
  }

  /// x gets what it lacks of y, which has so many columns: weights of the vectors that are stored and, where there is a column
  /// more than those, of the last u. Returns the last of y.
  SORDINO_HD V solve(int columns, int stored) const {
    V *x = made_with().of_x(), last{0};
    for (int j = 0; j < columns; j++) x[j] = g()[j];
    for (int j = columns - 1; j >= 0; j--) {
      const double pivot = real_part(R(j)[j]);
      x[j] = pivot == 0 ? V{0} : over(x[j], pivot);
      for (int i = 0; i < j; i++) x[i] = x[i] - R(j)[i] * x[j];
    }
    if (columns > 0) last = x[columns - 1];
    for (int j = 0; j < columns; j++) {
      const V y = x[j];
      x[j] = x[j] - in_x()[j];
      in_x()[j] = y;
    }
    const V of_u = columns > stored ? x[stored] * real_part(made_with().inverse()) : V{0};
    for (int j = 0; j < stored && !keeps_z; j++)
      for (int i = 0; i < j; i++) x[i] = x[i] + S(j)[i] * x[j];
    x[m] = of_u;
    return last;
  }

  /// The residual of so many columns, `below` what is left of beta: rotations back.
  SORDINO_HD void residual(int columns, double below, V last_y) const {
    V* r = made_with().of_r();
    r[columns] = V{below};
    for (int j = columns - 1; j >= 0; j--) {
      r[j] = r[j + 1] * -real_part(turns()[2 * j + 1]);
      r[j + 1] = r[j + 1] * conjugate(turns()[2 * j]);
    }
    r[m + 1] = last_y * -1.0;
  }
};

/// How a cycle goes on, as a scalar.
constexpr double goes_on = 0, begins_anew = 1, is_stuck = 2;

/// What the products say: the column before is final, a new one is there but for its second pass. Sums to (r,r) and the course.
template <class V>
struct Orthogonalize {
  static constexpr double least_left = 0.1;  // of the norm of u by the second pass: less is rounding, as it is of that of w
  static constexpr double no_progress = 1 - 1e-12;
  Get stored;
  Put at;
  SmallOf<V> products;  // [m + 2][2], of w, u, and V, conjugated, with u and w
  LeastSquares<V> l;
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(stored);
    visit(at);
    visit(products);
    l.fields(visit);
  }
  SORDINO_HD void head() { at = double(stored); }
  SORDINO_HD Sums<2> row(i32) {
    const int n = int(stored);
    const double alpha = second_pass(n);
    const WeightsOf<V> to = l.made_with();
    to.inverse() = V{alpha > 0 ? 1 / alpha : 0};
    if (n == 0) {
      l.gamma() = V{alpha};
      l.first() = V{alpha * alpha};
    } else {
      l.column()[n] = V{alpha};
      l.gamma() = V{l.turn(n - 1)};
    }
    first_pass(n, to);
    const bool whole = n + 1 == l.m, lost = alpha == 0;
    double left = real_part(l.gamma());
    if (!lost) left = l.turn(n);
    const double rr = left * left;
    if (lost || whole) l.residual(lost ? n : n + 1, left, l.solve(lost ? n : n + 1, n));
    const bool stuck = lost && n > 0 && rr >= no_progress * real_part(l.first());
    return {{rr, stuck ? is_stuck : lost || whole ? begins_anew : goes_on}};
  }
  Cost cost() const {
    return {double(sizeof(V)) * (2 * l.m * l.m + 10 * l.m), (sizeof(V) > sizeof(double) ? 24.0 : 6.0) * l.m * l.m};
  }

 private:
  SORDINO_HD V s(int i) const { return products[4 + 2 * i]; }
  SORDINO_HD V z(int i) const { return products[5 + 2 * i]; }
  /// Adds s to the last column; returns alpha, or 0 where u is made of V and rounding. A NaN stays one.
  SORDINO_HD double second_pass(int n) const {
    const double uu = real_part(products[2]);
    double square = uu;
    for (int i = 0; i < n; i++) {
      square -= squared(s(i));
      l.column()[i] = l.column()[i] + s(i);
    }
    const double least = n == 0 ? 0 : rounding * rounding * real_part(l.before());
    return square <= least_left * least_left * uu || square <= least ? 0 : std::sqrt(square);
  }
  /// The new column, in the weights too; its last entry is by Pythagoras, at least what rounding leaves of that.
  SORDINO_HD void first_pass(int n, const WeightsOf<V>& to) const {
    const double inverse = real_part(to.inverse()), ww = real_part(products[1]) * inverse * inverse;
    V on_q = products[3];
    double left = ww;
    for (int i = 0; i < n; i++) {
      const V h = z(i) * inverse;
      on_q = on_q - conjugate(s(i)) * z(i);
      left -= squared(h);
      l.column()[i] = to.of_next()[i] = h;
      to.of_q()[i] = l.S(n)[i] = s(i) * inverse;
    }
    const V h = on_q * inverse * inverse;
    left -= squared(h);
    l.column()[n] = to.of_next()[n] = h;
    l.column()[n + 1] = V{std::sqrt(left < 4 * eps * ww ? 4 * eps * ww : left)};
    l.in_x()[n] = V{0};
    l.before() = V{ww};
  }
};

/// In the middle of a cycle; at its end Orthogonalize has done so.
template <class V>
struct Solve {
  bool with_u;  // the last column's vector is u, and not yet in V
  Get stored, course;
  LeastSquares<V> l;
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(stored);
    visit(course);
    l.fields(visit);
  }
  SORDINO_HD void row(i32) const {
    const int n = int(stored);
    if (with_u && course != goes_on) return;
    l.solve(with_u && real_part(l.made_with().inverse()) > 0 ? n + 1 : n, n);
  }
  Cost cost() const {
    return {double(sizeof(V)) * (l.m * l.m + 4 * l.m), (sizeof(V) > sizeof(double) ? 4.0 : 1.0) * l.m * l.m};
  }
};

}  // namespace sordino::hessenberg
