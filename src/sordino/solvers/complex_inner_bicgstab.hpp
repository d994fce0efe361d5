// M^-1 of complex systems as a few steps of BiCGStab with another matrix: inner_bicgstab.hpp with the steps of
// complex_bicgstab.hpp.
//
// An application of k steps: 2 k products, 2 k halos, 3 k + 1 reductions, all exposed, and one command more. Vector traffic
// beyond the products 21 n complex numbers a step, workspace 8 n of them. A step whose divisor has vanished is left out.
#pragma once
#include <memory>

#include "sordino/linalg/operator.hpp"
#include "sordino/solvers/complex_bicgstab.hpp"

namespace sordino {

namespace complex_inner_bicgstab {

struct Begin {  // x = 0;  r = rh = p = b
  InNumber b;
  NumberScaling d;
  OutNumber x, r, rh, p, ph;
  static constexpr double flops = 9;
  SORDINO_HD Sums<2> row(i32 i) {
    const Number bi = b[i];
    x[i] = {};
    r[i] = rh[i] = p[i] = bi;
    ph[i] = d[i] * bi;
    return {norm(bi), 0};
  }
};

using Kernels = KernelList<Kernel<Begin>, Kernel<complex_bicgstab::Direction>>;

}  // namespace complex_inner_bicgstab

class ComplexInnerBicgstab final : public Operator {
 public:
  /// Collective. `inverse_diagonal`: of A's, a vector on its space, or unset.
  ComplexInnerBicgstab(Rank& rank, std::unique_ptr<Operator> A, NumberScaling inverse_diagonal, int steps);

  void apply(Rank& rank, Vec b, Vec x, const StartDots& epilogue = {}) const override;
  int space() const override { return A_->space(); }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space()); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space()); }

 private:
  std::unique_ptr<Operator> A_;
  NumberScaling d_;
  int steps_;
  Vec r_, rh_, p_, s_, v_, t_, ph_, sh_;
  ScalNumber first_rho_, rho_[2];  // of the start; of even and odd steps
  ScalNumber rv_, st_, zeta_;
  Scal rr_[2], tt_;
};

}  // namespace sordino
