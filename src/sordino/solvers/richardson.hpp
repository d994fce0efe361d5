// The stationary iteration x += omega M^-1 (b - A x) (Richardson 1910): of multigrid as M a solver of its own; with jacobi it
// is Jacobi's. It converges where all eigenvalues of omega M^-1 A lie within 1 of 1, whatever A and M are otherwise.
//
// Per iteration: 1 operator, 1 halo, 1 reduction of 1 value, exposed. Vector traffic beyond the operator 7 n words, workspace 2
// n; with an operator as the preconditioner z is kept: workspace 3 n. r is computed from x, so that nothing drifts and (r,r) is
// the true one. It is summed behind M, which is applied to the last r, too: the sum says that all ranks have read what M has
// sent.
#pragma once
#include "sordino/hmatrix/values.hpp"
#include "sordino/solvers/number_steps.hpp"

namespace sordino::richardson {

template <class V>
struct Correct {  // x += omega d r, or omega z where M^-1 is no diagonal
  typename FieldsOf<V>::In r;
  typename FieldsOf<V>::Scaling d;
  typename FieldsOf<V>::InOut x;
  double omega = 1;
  static constexpr double flops = hmatrix::words_of<V> == 1 ? 3 : 10;
  SORDINO_HD void row(i32 i) {
    V correction = d[i] * r[i];
    x[i] = x[i] + correction * omega;
  }
};

template <class V>
struct Residual {  // r = b - A x, and (r,r)
  typename FieldsOf<V>::In b, Ax;
  typename FieldsOf<V>::Out r;
  static constexpr double flops = hmatrix::words_of<V> == 1 ? 3 : 6;
  SORDINO_HD Sums<1> row(i32 i) {
    V ri = b[i] - Ax[i];
    r[i] = ri;
    return {hmatrix::squared(ri)};
  }
};

template <class V>
struct Defect {  // r = b - A x, which M is applied to
  typename FieldsOf<V>::In b, Ax;
  typename FieldsOf<V>::Out r;
  static constexpr double flops = hmatrix::words_of<V> == 1 ? 1 : 2;
  SORDINO_HD void row(i32 i) { r[i] = b[i] - Ax[i]; }
};

template <class V>
using StepKernels = KernelList<Kernel<Correct<V>, Converged>, Kernel<Residual<V>>, Kernel<Defect<V>>>;

struct Richardson final : Method {
  static constexpr const char *name = "richardson", *matrix = "general";
  static constexpr const char* summary = "the stationary iteration x += omega M^-1 r: multigrid as a solver; one reduction";
  static constexpr bool replicated = false, any_preconditioner = true, flexible = true;
  static constexpr Factors complex = Factors::of_numbers;
  explicit Richardson(const Problem& problem);
  std::string why_diverged() const override;
  using kernels = decltype(joined(StepKernels<double>{}, StepKernels<Number>{}));

 private:
  template <class V>
  void record(const Problem& problem);
};

}  // namespace sordino::richardson
