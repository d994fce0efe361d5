// Chebyshev polynomial of a symmetric positive definite matrix (Rutishauser 1959; Saad, Iterative Methods, 2003,
// Algorithm 12.1, from z = 0 with D = diag(A)): M^-1 = p(D^-1 A) D^-1, with p of a degree k as good as k + 1 steps of a solver
// that needs no sums.
//
// An application costs k products and halos, k + 1 updates of vectors and no reduction, so that an iteration of a method has as
// many sums for k + 1 products as else for one. Vector traffic beyond the products 3 n + 6 k n words, and 1 n for each step but
// the first and the last one, workspace 4 n and D, of degree 1 2 n and D.
// p is least on [bound / 100, bound], or a smoother's on a part of that, where `bound` is no less than the largest eigenvalue
// of D^-1 A (spectral_bound): below the interval it stays positive, so M is positive definite, too.
#pragma once
#include <vector>

#include "sordino/base/singles.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/runtime/columns.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// V: double, or Singles, of vectors in single precision.
namespace chebyshev {

/// The inverse diagonal: of doubles 1 where it is unset.
template <class V>
using ScalingOf = std::conditional_t<numbers_in<V> == 1, Scaling, InOf<V>>;

template <class V = double>
struct First {  // z = c D^-1 r, c = 1 / theta
  Get c;
  InOf<V> r;
  ScalingOf<V> D;
  OutOf<V> z;
  static constexpr double flops = 2 * numbers_in<V>;
  SORDINO_HD void row(i32 i) { z[i] = c * (D[i] * r[i]); }
};

template <class V = double>
struct FirstStep {  // d = a z + c D^-1 (r - A z);  z_new = z + d
  Get a, c;
  InOf<V> r, Az, z;
  ScalingOf<V> D;
  OutOf<V> d, z_new;
  static constexpr double flops = 6 * numbers_in<V>;
  SORDINO_HD void row(i32 i) {
    V zi = z[i], di = a * zi + c * (D[i] * (r[i] - Az[i]));
    d[i] = di;
    z_new[i] = zi + di;
  }
};

template <class V = double>
struct Step {  // d = a d + c D^-1 (r - A z);  z_new = z + d
  Get a, c;
  InOf<V> r, Az, z;
  ScalingOf<V> D;
  InOutOf<V> d;
  OutOf<V> z_new;
  static constexpr double flops = 6 * numbers_in<V>;
  SORDINO_HD void row(i32 i) {
    V zi = z[i], di = a * d[i] + c * (D[i] * (r[i] - Az[i]));  // loaded before anything is stored (ADR 51)
    d[i] = di;
    z_new[i] = zi + di;
  }
};

template <class V = double>
struct LastStep {  // the same; nobody needs d any more. Unset it is z
  Get a, c;
  InOf<V> r, Az, z, d;
  ScalingOf<V> D;
  OutOf<V> z_new;
  static constexpr double flops = 6 * numbers_in<V>;
  SORDINO_HD void row(i32 i) {
    const V zi = z[i], di = d.p ? d[i] : zi;
    z_new[i] = zi + (a * di + c * (D[i] * (r[i] - Az[i])));
  }
};

template <class V = double>
struct LeavingStep {  // the same, and what z left
  Get a, c;
  InOf<V> r, Az, z, d;
  ScalingOf<V> D;
  OutOf<V> left, z_new;
  static constexpr double flops = 6 * numbers_in<V>;
  SORDINO_HD void row(i32 i) {
    const V zi = z[i], di = d.p ? d[i] : zi, rest = r[i] - Az[i];
    left[i] = rest;
    z_new[i] = zi + (a * di + c * (D[i] * rest));
  }
};

template <class V>
using KernelsOf =
    KernelList<Kernel<First<V>>, Kernel<FirstStep<V>>, Kernel<Step<V>>, Kernel<LastStep<V>>, Kernel<LeavingStep<V>>>;
using Kernels = decltype(joined(KernelsOf<double>{}, KernelsOf<Singles>{}));

}  // namespace chebyshev

/// The largest sum of a row's |a_ij| / a_ii, of the rows that are at hand: by Gershgorin no eigenvalue of D^-1 A is larger.
/// Throws bad_argument for a diagonal that is not positive.
double spectral_bound(const CsrView& A);

/// z = M^-1 r. What it is applied to needs no ghosts; between two steps the iterate is sent, from one vector and another in
/// turn, so that nobody overwrites what a neighbour still reads.
class ChebyshevOperator final : public Operator {
 public:
  /// `interval`: the ratio of the ends of what p is least on; of a smoother a few, for other levels see to the rest.
  ChebyshevOperator(Rank& rank, const Operator& A, Vec inverse_diagonal, int degree, double bound, double interval = 100);
  void set_bound(Rank& rank, double bound) const;

  void apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue = {}) const override;
  /// z = M^-1 r, and left = r - A z', where z' is what came before z, by the polynomial of a degree less: the last product says
  /// both, and `left` costs none.
  void apply_and_leave(Rank& rank, Vec r, Vec z, Vec left) const;
  /// to = x + N^-1 (b - A x), for x that came from A.operand() and N^-1 the polynomial of a degree less: as many products.
  void improve(Rank& rank, Vec b, Vec x, Vec to) const;
  /// Where its products lie, for others between two applications.
  Vec product() const { return Az_; }
  int space() const override { return A_.space(); }
  bool is_single() const override { return A_.is_single(); }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, A_.space()); }
  Vec result(Rank& rank, const char* name) const override { return A_.operand(rank, name); }

 private:
  /// From an iterate to z: of two vectors that are sent in turn, begun so that the last one of improve() is the odd one, and a
  /// neighbour has read what apply() overwrites next.
  struct Steps {
    std::size_t count = 0, begin = 0;  // begin: which of the two comes first
    bool has_d = false;                // stored with the first one, which is not d itself
    Vec left = {};                     // where the last step is to store what the iterate before it left
  };
  template <class V>
  void record_steps(Rank& rank, Vec r, Vec z, const Steps& steps) const;

  const Operator& A_;
  double interval_;
  Vec D_, d_, Az_, iterates_[2];
  Scal first_, none_;
  std::vector<Scal> keep_, add_;  // of step k
};

class Chebyshev final : public Preconditioner {
 public:
  /// Collective. A must outlive it. `bound`: of D^-1 A, on all ranks the same.
  Chebyshev(Rank& rank, const Operator& A, const CsrView& entries, int degree, double bound)
      : jacobi_(rank, entries, A.space()), M_(rank, A, jacobi_.diagonal(), degree, bound) {}
  void update_values(Rank& rank, const CsrView& entries, double bound) {
    jacobi_.update_values(rank, entries);
    M_.set_bound(rank, bound);
  }
  Vec diagonal() const override { return {}; }
  const Operator* operation() const override { return &M_; }

 private:
  Jacobi jacobi_;
  ChebyshevOperator M_;
};

}  // namespace sordino
