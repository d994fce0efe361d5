// The small dense algebra of GMRES: coefficients of Gram-Schmidt in two passes, of which the second one comes a step later
// (gmres.hpp), and the least-squares problem with the Hessenberg matrix that they make. Every rank solves it for itself, with
// the same bits; columns and steps count from 0.
#pragma once
#include <cmath>

#include "sordino/solvers/gram.hpp"

namespace sordino::hessenberg {

using gram::Small;
using gram::SmallOut;
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
using Weights = WeightsOf<double>;

/// The problem min ||beta e_1 - H y|| of a cycle, by rotations that make an upper triangle R of H. Columns count from 0.
struct LeastSquares {
  int m = 0;
  bool keeps_z = false;  // x is made of Z, and else of V
  SmallOut all, weights;
  static i32 length(int m) { return 2 * m * m + 5 * m + 4; }
  SORDINO_HD double* R(int j) const { return all.p + j * m; }        // column j
  SORDINO_HD double* S(int j) const { return all.p + (m + j) * m; }  // column j: s / alpha
  SORDINO_HD double* turns() const { return all.p + 2 * m * m; }     // [m][2] cosines and sines
  SORDINO_HD double* g() const { return turns() + 2 * m; }           // [m]
  SORDINO_HD double* in_x() const { return g() + m; }                // [m] what x has of y already
  SORDINO_HD double* column() const { return in_x() + m; }           // [m + 1] the last of H, not turned
  SORDINO_HD double& gamma() const { return column()[m + 1]; }       // what beta e_1 has in its row
  SORDINO_HD double& before() const { return column()[m + 2]; }      // (w,w) / alpha^2 of the step before
  SORDINO_HD double& first() const { return column()[m + 3]; }       // (r,r) where the cycle began
  SORDINO_HD Weights made_with() const { return {m, weights.p}; }
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(all);
    visit(weights);
  }

  static constexpr double dependent = 1e-12;  // what rounding leaves in R's diagonal where there should be nothing

  /// Turns the last column, j; returns what then is below g_j. One that depends on those before it, as a singular matrix has
  /// it, is left out, and takes nothing away.
  SORDINO_HD double turn(int j) const {
    double *r = R(j), last = column()[0], above = 0;
    for (int i = 0; i < j; i++) {
      const double c = turns()[2 * i], s = turns()[2 * i + 1], below = column()[i + 1];
      r[i] = c * last + s * below;
      last = c * below - s * last;
      above += r[i] * r[i];
    }
    const double below = column()[j + 1], norm = std::sqrt(last * last + below * below);
    const bool none = norm <= dependent * std::sqrt(above);
    const double c = none ? 0 : last / norm, s = none ? 1 : below / norm;
    r[j] = none ? 0 : norm;
    turns()[2 * j] = c;
    turns()[2 * j + 1] = s;
    g()[j] = c * gamma();
    return -s * gamma();
  }

  /// x gets what it lacks of y, which has so many columns: weights of the vectors that are stored and, where there is a column
  /// more than those, of the last u. Returns the last of y.
  SORDINO_HD double solve(int columns, int stored) const {
    double *x = made_with().of_x(), last = 0;
    for (int j = 0; j < columns; j++) x[j] = g()[j];
    for (int j = columns - 1; j >= 0; j--) {
      x[j] = R(j)[j] == 0 ? 0 : x[j] / R(j)[j];
      for (int i = 0; i < j; i++) x[i] -= R(j)[i] * x[j];
    }
    if (columns > 0) last = x[columns - 1];
    for (int j = 0; j < columns; j++) {
      const double y = x[j];
      x[j] -= in_x()[j];
      in_x()[j] = y;
    }
    const double of_u = columns > stored ? x[stored] * made_with().inverse() : 0;
    for (int j = 0; j < stored && !keeps_z; j++)
      for (int i = 0; i < j; i++) x[i] += S(j)[i] * x[j];
    x[m] = of_u;
    return last;
  }

  /// The residual of so many columns, `below` what is left of beta: rotations back.
  SORDINO_HD void residual(int columns, double below, double last_y) const {
    double* r = made_with().of_r();
    r[columns] = below;
    for (int j = columns - 1; j >= 0; j--) {
      r[j] = -turns()[2 * j + 1] * r[j + 1];
      r[j + 1] *= turns()[2 * j];
    }
    r[m + 1] = -last_y;
  }
};

/// How a cycle goes on, as a scalar.
constexpr double goes_on = 0, begins_anew = 1, is_stuck = 2;

/// What the products say: the column before is final, a new one is there but for its second pass. Sums to (r,r) and the course.
struct Orthogonalize {
  static constexpr double least_left = 0.1;  // of the norm of u by the second pass: less is rounding, as it is of that of w
  static constexpr double no_progress = 1 - 1e-12;
  Get stored;
  Put at;
  Small products;  // [m + 2][2], of w, u, and V, with u and w
  LeastSquares l;
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
    const Weights to = l.made_with();
    to.inverse() = alpha > 0 ? 1 / alpha : 0;
    if (n == 0) {
      l.gamma() = alpha;
      l.first() = alpha * alpha;
    } else {
      l.column()[n] = alpha;
      l.gamma() = l.turn(n - 1);
    }
    first_pass(n, to);
    const bool whole = n + 1 == l.m, lost = alpha == 0;
    double left = l.gamma();
    if (!lost) left = l.turn(n);
    const double rr = left * left;
    if (lost || whole) l.residual(lost ? n : n + 1, left, l.solve(lost ? n : n + 1, n));
    const bool stuck = lost && n > 0 && rr >= no_progress * l.first();
    return {{rr, stuck ? is_stuck : lost || whole ? begins_anew : goes_on}};
  }
  Cost cost() const { return {8.0 * (2 * l.m * l.m + 10 * l.m), 6.0 * l.m * l.m}; }

 private:
  SORDINO_HD double s(int i) const { return products[4 + 2 * i]; }
  SORDINO_HD double z(int i) const { return products[5 + 2 * i]; }
  /// Adds s to the last column; returns alpha, or 0 where u is made of V and rounding. A NaN stays one.
  SORDINO_HD double second_pass(int n) const {
    const double uu = products[2];
    double square = uu;
    for (int i = 0; i < n; i++) {
      square -= s(i) * s(i);
      l.column()[i] += s(i);
    }
    const double least = n == 0 ? 0 : rounding * rounding * l.before();
    return square <= least_left * least_left * uu || square <= least ? 0 : std::sqrt(square);
  }
  /// The new column, in the weights too; its last entry is by Pythagoras, at least what rounding leaves of that.
  SORDINO_HD void first_pass(int n, const Weights& to) const {
    const double inverse = to.inverse(), ww = products[1] * inverse * inverse;
    double on_q = products[3], left = ww;
    for (int i = 0; i < n; i++) {
      const double h = z(i) * inverse;
      on_q -= s(i) * z(i);
      left -= h * h;
      l.column()[i] = to.of_next()[i] = h;
      to.of_q()[i] = l.S(n)[i] = s(i) * inverse;
    }
    const double h = on_q * inverse * inverse;
    left -= h * h;
    l.column()[n] = to.of_next()[n] = h;
    l.column()[n + 1] = std::sqrt(left < 4 * eps * ww ? 4 * eps * ww : left);
    l.in_x()[n] = 0;
    l.before() = ww;
  }
};

/// In the middle of a cycle; at its end Orthogonalize has done so.
struct Solve {
  bool with_u;  // the last column's vector is u, and not yet in V
  Get stored, course;
  LeastSquares l;
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(stored);
    visit(course);
    l.fields(visit);
  }
  SORDINO_HD void row(i32) const {
    const int n = int(stored);
    if (with_u && course != goes_on) return;
    l.solve(with_u && l.made_with().inverse() > 0 ? n + 1 : n, n);
  }
  Cost cost() const { return {8.0 * (l.m * l.m + 4 * l.m), 1.0 * l.m * l.m}; }
};

}  // namespace sordino::hessenberg
