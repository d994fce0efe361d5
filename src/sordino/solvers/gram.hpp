// The small dense algebra of methods that take s steps at once: sums of products of s vectors with s vectors, and systems with
// the matrix of them, solved by every rank for itself, with the same bits.
//
// Small matrices lie by rows in vectors on replicated spaces, where commands compute them.
#pragma once
#include <cmath>

#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"
#include "sordino/solvers/tall_products.hpp"

namespace sordino::gram {

constexpr int most_kept = 16;  // of sums that go to a small matrix at once: one reduction has so many on GPUs

using Small = Foreign<const double, Access::read>;
using SmallOut = Foreign<double, Access::update>;

/// Sums of one reduction go to their places in a small matrix.
struct Keep {
  int count = 0;
  Get sum[most_kept] = {};
  i32 at[most_kept] = {};
  SmallOut to;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    for (int k = 0; k < count; k++) visit(sum[k]);
    visit(to);
  }
  SORDINO_HD void row(i32) {
    for (int k = 0; k < count; k++) to[at[k]] = sum[k];
  }
  Cost cost() const { return {8.0 * count, 0}; }
};

/// G = L D L', and a = G^-1 g; without roots, so that a scaled A has the same digits. `gram` holds the upper triangle of G,
/// [s][s], and behind it g, [s]; L, [s][s], has D in its diagonal. A column whose pivot has no digits left depends on those
/// before it: it is left out, with a zero in D, and its part of a solution is zero.
/// Sums to the number of columns that are kept, and to 0 if that is no remedy: a pivot is negative beyond rounding, or not a
/// number, or the directions are no longer conjugate.
///
/// That is seen in C = Q' A S of the step before. The residual that S is made of is orthogonal to all that A Q_i reaches with
/// s - 1 - i more products, so that but for rounding the triangle above C's other diagonal is zero. What stands there, in the
/// norm of A, is what rounding has made of orthogonality: 1e-15 to 1e-6 where s steps do as well as s of conjugate gradients,
/// and 0.1 where they need several times as many.
struct Factor {
  static constexpr double most_lost = 1e-4;
  static constexpr double least_pivot = 1e-14;  // of the entry in G's diagonal
  static constexpr double rounding = 1e-8;      // of it, below zero
  int s = 0;
  Get rr_before;  // infinite: there was no step before
  Small gram, C;
  SmallOut L, a, diagonal;  // that of G, [s], from one step to the next
  SORDINO_HD Sums<1> row(i32) {
    const bool lost = rr_before < HUGE_VAL && !conjugate();
    for (int j = 0; j < s; j++) diagonal[j] = gram[j * s + j];
    if (lost) return give_up();
    int columns = 0;
    for (int j = 0; j < s; j++) {
      double norm = gram[j * s + j], pivot = norm;
      for (int k = 0; k < j; k++) pivot -= L[j * s + k] * L[j * s + k] * L[k * s + k];
      if (!(norm >= 0 && pivot >= -rounding * norm)) return give_up();
      bool kept = pivot > least_pivot * norm;
      columns += kept;
      L[j * s + j] = kept ? pivot : 0;
      for (int i = j + 1; i < s; i++) {
        double sum = gram[j * s + i];
        for (int k = 0; k < j; k++) sum -= L[i * s + k] * L[j * s + k] * L[k * s + k];
        L[i * s + j] = kept ? sum / L[j * s + j] : 0;
      }
    }
    solve(s, L.p, gram.p + s * s, 1, a.p, 1);
    return {{double(columns)}};
  }
  /// Nothing is solved: a step of no length, and no direction is taken into the next.
  SORDINO_HD Sums<1> give_up() const {
    for (int j = 0; j < s; j++) L[j * s + j] = a[j] = 0;
    return {{0}};
  }
  /// Whether no Q_i of the step before has too large a cosine with one of this step's that it should be orthogonal to.
  SORDINO_HD bool conjugate() const {
    for (int i = 0; i < s; i++)
      for (int j = 0; i + j < s - 1; j++) {
        double most = most_lost * std::sqrt(diagonal[i]) * std::sqrt(gram[j * s + j]);
        if (std::fabs(C[i * s + j]) > most) return false;
      }
    return true;
  }
  /// L D L' x = b; elements `b_step` and `x_step` apart.
  SORDINO_HD static void solve(int s, const double* L, const double* b, int b_step, double* x, int x_step) {
    for (int i = 0; i < s; i++) {
      double sum = b[i * b_step];
      for (int k = 0; k < i; k++) sum -= L[i * s + k] * x[k * x_step];
      x[i * x_step] = L[i * s + i] > 0 ? sum : 0;
    }
    for (int i = s - 1; i >= 0; i--) {
      if (!(L[i * s + i] > 0)) continue;
      double sum = x[i * x_step] / L[i * s + i];
      for (int k = i + 1; k < s; k++) sum -= L[k * s + i] * x[k * x_step];
      x[i * x_step] = sum;
    }
  }
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(rr_before);
    visit(gram);
    visit(C);
    visit(L);
    visit(a);
    visit(diagonal);
  }
  Cost cost() const { return {8.0 * (3 * s * s + 3 * s), s * s * s / 3.0 + 2.0 * s * s}; }
};

/// B = G^-1 C: a row of the space is a column of B.
struct Solve {
  int s = 0;
  Small L, C;
  SmallOut B;
  SORDINO_HD void row(i32 j) { Factor::solve(s, L.p, C.p + j, s, B.p + j, s); }
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(L);
    visit(C);
    visit(B);
  }
  Cost cost() const { return {24.0 * s * s, 2.0 * s * s * s}; }
};

using Kernels = decltype(joined(ProductKernels{}, KernelList<Kernel<Keep>, Kernel<Factor>, Kernel<Solve>>{}));

/// The sums of products of vectors a_1..a_s with b_1..b_s in one reduction of s^2 values, or of s (s + 1) / 2 + s where
/// they are symmetric, kept as a small matrix.
class Table {
 public:
  /// symmetric: the upper triangle of a' b, behind it a' r. `batches` outlives it.
  Table(Rank& rank, const Batches& batches, int s, bool symmetric);

  /// Starts the reduction.
  void start(const std::vector<Vec>& a, const std::vector<Vec>& b) const;
  void start_symmetric(const std::vector<Vec>& a, std::vector<Vec> b, Vec r) const;
  /// Ends it.
  void keep(int space, Vec to) const;

 private:
  /// Sums of which GPUs have one reduction.
  struct Part {
    std::vector<Scal> sums;
    std::vector<i32> of_batch, of_table;  // [sums] their places
  };

  Rank& rank_;
  const Batches& batches_;
  bool symmetric_;
  std::vector<Part> parts_;
};

/// A space of so many rows, all of which every rank computes.
Space replicated(i32 rows);

}  // namespace sordino::gram
